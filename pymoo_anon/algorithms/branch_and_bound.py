"""Branch and bound with proven fronts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from pymoo.core.individual import Individual
from pymoo.core.initialization import Initialization
from pymoo.core.meta import Meta
from pymoo.core.population import Population
from pymoo.core.sampling import Sampling
from pymoo.util.display.column import Column

from pymoo_anon.algorithms.common import FrontOutput, OwnSearch, options_of
from pymoo_anon.fronts.archive import evaluated, front_order
from pymoo_anon.problems.base import keys_of
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import Limits, Proof, gap, share_off, tolerance
from pymoo_anon.proofs.intervals import IntervalProof
from pymoo_anon.proofs.stored import StoredLatticeProof, stored_bytes
from pymoo_anon.proofs.strings import StringProof
from pymoo_anon.table.domain_values import is_number
from pymoo_anon.typing import Floats, Ints


class BranchAndBound(OwnSearch):
    """Branch and bound, which proves its front.

    It takes a `LatticeProblem` or a `BitStringProblem`. The principle is that of Land and Doig 1960, the bounds are
    this package's own.

    On a lattice, objectives bound the values of nodes that were not evaluated. A node is fathomed if a member of the
    front is at least as good as all its bounds, or if they violate a constraint. All other nodes are evaluated. A
    lattice that does not fit into `max_bytes` is not stored but searched by intervals, whatever its size: all nodes
    between a most special and a most general one, whose values bound the others.

    On bit strings it proves the least of one loss over cells (GLM, NWP or non-uniform entropy), or the front of such
    a loss and k. A branch is all strings with the same beginning. Its bound is the gain of the best groups of each
    remaining attribute, as if the other attributes followed that choice.

    It stops by itself. Stopped earlier, by a termination or by Ctrl-C, it returns the best points so far with a
    certified `gap`, and can go on. A budget of seconds excludes compile time. If bounds fathom less than half of the
    nodes, it visits all nodes that are left, as `ExhaustiveSearch` does, so that it is never much slower.

    Of points with equal F one is kept. Where no point satisfies all constraints, `return_least_infeasible` gives the
    evaluated one that violates them least. The search evaluates points itself, by `next()` and `run()`. `ask()` raises
    NotImplementedError.

    Args:
        epsilon: Tolerance of the front: how much worse than any point the best member for it may be. A number is in
            units of the objective, a string such as "5%" is a share of the value. One value for all objectives, or one
            per objective. If all are numbers above 0, the result is one point of every non-dominated box of these
            sides, as in `BoxArchive`. None gives the exact front.
        max_bytes: Memory for the bounds of open nodes.
        sampling: Points to begin with, such as the result of a short search: a population, an (n, n_var) array or a
            sampling operator of pymoo, which is asked for 100. None begins with none.
        **kwargs: As pymoo's `Algorithm`. By default the output is the evaluated, pruned and undecided points, the size
            of the front and its gap, a share: for every open point some member is, in no objective, worse by more than
            it.

    Attributes:
        proof: The proof itself, a class of `proofs` with more figures.

    Raises:
        ValueError: `epsilon` or `max_bytes` is out of range. At setup: an objective states no bounds.
        TypeError: An argument is not known. At setup: the problem is of another kind, or one of pymoo's wrappers
            changes its values.
    """

    _kinds = (LatticeProblem, BitStringProblem)

    def __init__(
        self,
        epsilon: float | str | Sequence[float | str] | None = None,
        sampling: Sampling | Population | Ints | None = None,
        max_bytes: int = 2 << 30,
        **kwargs: Any,
    ) -> None:
        counts = (("evaluated", 9), ("pruned", 10), ("undecided", 10))
        before = [Column(name, width=width, func=attrgetter(f"n_{name}")) for name, width in counts]
        output = FrontOutput(*before, after=[Column("gap", width=8, func=_shown_gap)])
        super().__init__(**options_of(self, kwargs, output=output))
        tolerance(epsilon)
        if not is_number(max_bytes) or not max_bytes > 0:
            raise ValueError(f"max_bytes must be positive, got {max_bytes!r}")
        self.epsilon = epsilon
        self.sampling = sampling
        self.limits = Limits(max_bytes)

    @property
    def certified(self) -> bool:
        """Whether the front is proven."""
        return bool(self.proof.certified)

    @property
    def n_evaluated(self) -> int:
        """Number of evaluated points."""
        return int(self.proof.n_evaluated)

    @property
    def n_undecided(self) -> int:
        """Number of open nodes or parts of the space."""
        return int(self.proof.n_undecided)

    @property
    def n_pruned(self) -> int:
        """Number of fathomed nodes or parts of the space."""
        return int(self.proof.n_pruned)

    @property
    def open_bounds(self) -> Floats:
        """Lower bounds of the open points, as `Proof.open_bounds`."""
        return self.proof.open_bounds()

    @property
    def gap(self) -> Floats:
        """Possible improvements of the members of `opt`, an (n, n_obj) float array.

        Only open points that are at least as good in all other objectives count.
        """
        return gap(self.proof.F[front_order(self.proof.F)], self.open_bounds)

    def next(self) -> None:
        """Run one iteration, and end the search on Ctrl-C."""
        try:
            super().next()
        except KeyboardInterrupt:
            if not self.is_initialized:
                raise
            self.termination.terminate()
            self.termination.update(self)
            self._set_optimum()

    def __deepcopy__(self, memo: dict[int, Any]) -> BranchAndBound:
        """Return a copy that can go on, without a history's bounds."""
        made = copy.copy(self)
        memo[id(self)] = made
        state = dict(self.__dict__)
        if self.history is None:
            # pymoo takes the history away before it copies an algorithm for it.
            proof = state.pop("proof")
            made.proof = proof if isinstance(proof, _ProofRecord) else _ProofRecord(proof)
        made.__dict__.update(copy.deepcopy(state, memo))
        return made

    def _begin(self, problem: LatticeProblem | BitStringProblem) -> None:
        if isinstance(problem, Meta):
            raise TypeError(
                "problem must be a LatticeProblem or a BitStringProblem itself, whose values are proven, got pymoo's "
                f"{type(problem).__name__}"
            )
        # The members of the front, by the bytes of their points.
        self._members: dict[bytes, Individual] = {}
        kind: type[Proof] = StringProof
        if isinstance(problem, LatticeProblem):
            kind = IntervalProof if stored_bytes(problem) > self.limits.max_bytes else StoredLatticeProof
        allowed = tolerance(self.epsilon, problem.n_obj)
        self.proof: Any = kind(problem, allowed, self.limits, self.random_state)

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if self.sampling is not None:
            pop = Initialization(self.sampling).do(self.problem, 100, random_state=self.random_state)
            if len(pop):
                self._work(lambda: self.proof.offer(self.problem.checked(pop.get("X"))))
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._work(self.proof.advance)
        if self.proof.certified:
            self.termination.terminate()

    def _work(self, work: Callable[[], None]) -> None:
        """Work on the proof, and show pymoo its points."""
        try:
            work()
        finally:
            # Ctrl-C must not lose the points of this iteration.
            X, F, G = self.proof.drain()
            if len(X) and self._shows_individuals:
                self._evaluated(X)
            else:
                self.evaluator.n_eval += len(X)
            if len(X) and not len(self.proof.X):
                self._keep_closest_of(X, F, G)

    def _set_optimum(self) -> None:
        X, F, G = self.proof.X, self.proof.F, self.proof.G
        keys = keys_of(X)
        new = [i for i, key in enumerate(keys) if key not in self._members]
        made = evaluated(X[new], F[new], G[new])
        known = {**self._members, **dict(zip(keys_of(X[new]), made, strict=True))}
        self._members = {key: known[key] for key in keys}
        self._show_front(Population(list(self._members.values())))


class _ProofRecord:
    def __init__(self, proof: Proof) -> None:
        self.X, self.F, self.G = proof.X, proof.F, proof.G
        nothing_known = np.full((1, proof.F.shape[1]), -np.inf)
        self._open_bounds = proof.open_bounds() if proof.shows_gap or proof.certified else nothing_known
        self.certified, self.n_evaluated = proof.certified, proof.n_evaluated
        self.n_pruned, self.n_undecided = proof.n_pruned, proof.n_undecided

    def open_bounds(self) -> Floats:
        """Return the recorded bounds, as `Proof.open_bounds`."""
        return self._open_bounds


def _shown_gap(algorithm: BranchAndBound) -> str | None:
    proof = algorithm.proof
    if not proof.shows_gap and not proof.certified:
        return None
    share = share_off(proof.F, proof.open_bounds())
    return f"{share:.2%}" if np.isfinite(share) else None
