"""Arguments that an algorithm hands on to pymoo, which passes over those that it does not know."""

from __future__ import annotations

from collections.abc import Collection
from inspect import signature

from pymoo.core.algorithm import Algorithm

from pymoo_anon._messages import examples

# What every algorithm of pymoo takes.
_OPTIONS = set(signature(Algorithm.__init__).parameters) - {"self", "kwargs"}


def check_arguments(algorithm: Algorithm, given: Collection[str], more: Collection[str] = ()) -> None:
    """Refuse arguments that neither an algorithm nor pymoo knows: a misspelt one would be passed over in silence."""
    unknown = sorted(set(given) - _OPTIONS - set(more))
    if unknown:
        raise TypeError(f"{type(algorithm).__name__} takes no argument {examples(unknown)}")
