"""The screen: a study shown in a browser."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later

if TYPE_CHECKING:
    from pymoo_anon.app.server import serve

__all__ = ["serve"]

__getattr__ = later(__name__)
