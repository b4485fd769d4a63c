"""Repairs of generalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.repair import Repair

from pymoo_anon.operators.spaces import check_strings
from pymoo_anon.problems.bitstrings import BitStringProblem


class ClosestValidRepair(Repair):  # type: ignore[misc]
    """The valid string nearest by Hamming distance, any of several nearest ones as likely.

    From Lunacek et al. 2006, section 3.2; exact. Strings that are valid stay as they are.

    Raises:
        TypeError: At the first repair, the problem is no `BitStringProblem`.
    """

    def _do(
        self,
        problem: BitStringProblem,
        X: NDArray[np.bool_],
        *args: Any,
        random_state: np.random.Generator | None = None,
        **kwargs: Any,
    ) -> NDArray[np.bool_]:
        check_strings(problem)
        return problem.closest(X, random_state)
