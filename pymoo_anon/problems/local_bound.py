"""Certified lower bounds of the loss of local recodings."""

from __future__ import annotations

import copy
import time
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from pymoo.core.termination import Termination
from pymoo.termination import get_termination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination

from pymoo_anon.recoding import Ascent, Tests, Trees


@dataclass(frozen=True)
class LowerBound:
    """Lower bound of the loss of all local recodings, and the loss of one.

    >>> bound = LowerBound(value=90.0, loss=100.0, n_passes=20)
    >>> bound.gap, bound.share
    (10.0, 0.1)
    >>> print(bound)
    a loss of 100 is within 10.0 % of the least: none is below 90 (20 passes)
    """

    value: float  # The bound, in units of the objective
    loss: float  # Loss of the recoding of the point, in the same units
    n_passes: int  # Number of passes that raised the bound

    @property
    def gap(self) -> float:
        """Greatest possible improvement in units of the objective, 0 for a proven optimum."""
        return max(self.loss - self.value, 0.0)

    @property
    def share(self) -> float:
        """The gap as a share of the loss, from 0 to 1."""
        return self.gap / self.loss if self.gap > 0 else 0.0

    def __str__(self) -> str:
        within = f"within {self.share:.1%} of the least".replace("%", " %")
        return f"a loss of {self.loss:g} is {within}: none is below {self.value:g} ({self.n_passes} passes)"


def limit_of(termination: Termination | tuple[Any, ...]) -> Termination:
    """Return an unused copy of a termination that counts passes or seconds, or raise."""
    made: Any = copy.deepcopy(termination)
    if isinstance(termination, tuple):
        # pymoo raises a bare Exception where it does not know a name.
        with suppress(Exception):
            made = get_termination(*termination)
    limit = getattr(made, "n_max_gen", None) or getattr(made, "max_time", None)
    if not isinstance(made, MaximumGenerationTermination | TimeBasedTermination) or limit is None or not limit > 0:
        raise ValueError(
            'termination must be a number of passes, such as ("n_iter", 20), or a time in seconds, such as '
            f'("time", 10), got {termination!r}'
        )
    return made


def ascend(trees: Trees, tests: Tests, loss: float, limit: Termination) -> LowerBound:
    """Raise a lower bound of a loss until the termination.

    The costs of nodes are those of the objective. The pass at hand is ended, and then the bound is checked.
    """
    # Loops are compiled before time counts.
    few = np.arange(min(len(trees.rows), 2))
    small = Ascent.of(trees.subset(few), tests.subset(few)._replace(k=1))
    small.advance()
    state = SimpleNamespace(start_time=time.time(), n_gen=0, n_iter=0)
    ascent = Ascent.of(trees, tests)
    limit.update(state)
    while limit.do_continue() and ascent.paid < loss:
        ascent.advance()
        state.n_gen = state.n_iter = ascent.n_passes
        limit.update(state)
    return LowerBound(value=ascent.bound(), loss=loss, n_passes=ascent.n_passes)
