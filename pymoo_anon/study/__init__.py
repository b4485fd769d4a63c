"""The folder of a search, and the files of a project."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later

if TYPE_CHECKING:
    from pymoo_anon.study.study import Study

__all__ = ["Study"]

__getattr__ = later(__name__)
