"""Branch and bound: the exact front, proven, from few evaluations; what pymoo sees of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.individual import Individual
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.sampling import Sampling
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon.algorithms.common import OwnSearch, check_arguments, front_size
from pymoo_anon.fronts.archive import evaluated, front_order
from pymoo_anon.problems.base import uncounted_compilation
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.memory import keys_of
from pymoo_anon.proofs.base import Proof, check_epsilon, gap, share_off, tolerance
from pymoo_anon.proofs.intervals import IntervalProof
from pymoo_anon.proofs.stored.proof import StoredLatticeProof, bytes_of
from pymoo_anon.proofs.strings.proof import StringProof


class BranchAndBound(OwnSearch):
    """Finds the complete front of a `LatticeProblem` or a `BitStringProblem` and proves it: few points are visited.

    The principle is that of Land and Doig 1960, the bounds are this package's own.

    On a lattice objectives bound the values of nodes that were not evaluated: k, l, S_k and S_l do not grow from a node
    to its specializations, the general loss of a node is at least that without suppression, and the classification
    metric at least that of any specialization. A node is settled where the front has a member that is at least as good
    as all its bounds, or where they say that it breaks a constraint; the others are evaluated.

    A lattice that does not fit into `max_bytes` is not stored. However large it is, it is searched by intervals of
    nodes: all between a most special and a most general one, whose values bound theirs. The interval that can be
    farthest from the front is halved first.

    Of bit strings it proves the least of one loss over cells (GLM, NWP or non-uniform entropy), or the front of such a
    loss and k. Groups of an attribute gain what they save. The best groups of the attributes that are left, each chosen
    as if the others followed it, bound what all strings gain that begin alike.

    It stops by itself. Stopped before, by a termination or by Ctrl-C, it returns the best nodes so far with a certified
    `gap`, and can go on. A budget of seconds does not count the compilation of loops. Where bounds settle less than
    half of the nodes it visits all that are left, as `ExhaustiveSearch` does, so that it is never much slower.

    Of nodes with equal objective values one is kept. Where no node satisfies all constraints,
    `return_least_infeasible` gives the evaluated one that violates them least. It evaluates nodes itself: ask and tell
    have nothing to do, `next()` and `run()` do.

    Args:
        epsilon: How much worse a member of the front may be than a node that it stands for: a number in units of the
            objective, or a share of the value such as "5%"; one for all objectives or one per objective. Where it is a
            number above 0 for all, the result is one node of every non-dominated box of these sides, as in
            `BoxArchive`. None gives the exact front.
        max_bytes: Memory that what is known of open nodes may take.
        sampling: Nodes to begin with, such as the result of a short search: a population, an (n, n_var) array or a
            sampling operator of pymoo. None begins with none.
        output: Columns of the verbose output; None is `BranchAndBoundOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, archive, evaluator, save_history, ...

    Attributes:
        proof: The proof itself: a class of `proofs` with more figures.

    Raises:
        ValueError: `epsilon` is no number that is not negative and no share, or `max_bytes` is not positive. At setup:
            an objective states no bounds, or its bit strings have other objectives.
        TypeError: An argument is not known. At setup: the problem is neither a `LatticeProblem` nor a
            `BitStringProblem`.
    """

    _kinds = (LatticeProblem, BitStringProblem)

    def __init__(
        self,
        epsilon: float | str | Sequence[float | str] | None = None,
        sampling: Sampling | Population | NDArray[np.int64] | None = None,
        output: Output | None = None,
        max_bytes: int = 2 << 30,
        **kwargs: Any,
    ) -> None:
        check_arguments(self, kwargs)
        super().__init__(output=BranchAndBoundOutput() if output is None else output, **kwargs)
        check_epsilon(epsilon)
        if not max_bytes > 0:
            raise ValueError(f"max_bytes must be positive, got {max_bytes!r}")
        self.epsilon = epsilon
        self.sampling = sampling
        self.max_bytes = max_bytes

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled, so that the front is proven to be complete."""
        return bool(self.proof.certified)

    @property
    def n_evaluated(self) -> int:
        """Number of nodes or strings that were evaluated."""
        return int(self.proof.n_evaluated)

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not settled; of parts of the space where it is not stored."""
        return int(self.proof.n_undecided)

    @property
    def n_pruned(self) -> int:
        """Number of nodes that were settled without an evaluation; of parts of the space where it is not stored."""
        return int(self.proof.n_pruned)

    @property
    def open_bounds(self) -> NDArray[np.float64]:
        """(m, n_obj) float array, minimised: every node that is not settled is at least as large as some row."""
        bounds: NDArray[np.float64] = self.proof.open_bounds()
        return bounds

    @property
    def gap(self) -> NDArray[np.float64]:
        """(n, n_obj) float array: by how much each objective of each member of `opt` could still be lower.

        That is among nodes that are at least as good in all other objectives; 0 where the front is proven.
        """
        return gap(self.proof.F[front_order(self.proof.F)], self.open_bounds)

    def next(self) -> None:
        """One iteration; Ctrl-C ends the search with what it has."""
        try:
            super().next()
        except KeyboardInterrupt:
            if not self.is_initialized:
                raise
            self.termination.terminate()
            self.termination.update(self)
            self._set_optimum()

    def __deepcopy__(self, memo: dict[int, Any]) -> BranchAndBound:
        """A copy that can go on by itself; for a history one without bounds, which would be large."""
        made = copy.copy(self)
        memo[id(self)] = made
        state = dict(self.__dict__)
        if self.history is None:
            # So pymoo copies for a history.
            proof = state.pop("proof")
            made.proof = proof if isinstance(proof, _Counts) else _Counts(proof)
        made.__dict__.update(copy.deepcopy(state, memo))
        return made

    def _begin(self, problem: LatticeProblem | BitStringProblem) -> None:
        super()._begin(problem)
        # The members of the front by the bytes of their points.
        self._members: dict[bytes, Individual] = {}
        own, kind = tolerance(self.epsilon, problem.n_obj), _kind(problem, self.max_bytes)
        kind.check(problem, self.max_bytes)
        self.proof: Any = kind(problem, own, self.max_bytes, self.random_state)

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if self.sampling is not None:
            pop = Initialization(self.sampling).do(self.problem, 100, random_state=self.random_state)
            self._work(lambda: self.proof.offer(self.problem.checked(pop.get("X"))))
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._work(self.proof.advance)
        if self.proof.certified:
            self.termination.terminate()

    def _work(self, work: Callable[[], None]) -> None:
        with uncounted_compilation(self):
            try:
                work()
            finally:
                # Also where Ctrl-C ends the iteration.
                X, F, G = self.proof.drain()
                if len(X):
                    self._count(X)
                    if not len(self.proof.X):
                        self._stand_in(X, F, G)

    def _count(self, X: NDArray[Any]) -> None:
        """Count evaluated points, and show them to the user's evaluator and archive."""
        if self.archive is None and type(self.evaluator) is Evaluator and self.evaluator.callback is None:
            self.evaluator.n_eval += len(X)
        else:
            self._show(X)

    def _set_optimum(self) -> None:
        X, F, G = self.proof.X, self.proof.F, self.proof.G
        keys = keys_of(X)
        new = [i for i, key in enumerate(keys) if key not in self._members]
        made = evaluated(X[new], F[new], G[new])
        known = {**self._members, **dict(zip(keys_of(X[new]), made, strict=True))}
        self._members = {key: known[key] for key in keys}
        self._tell(Population(list(self._members.values())))


class _Counts:
    """What is left of a proof in a history: its front, its numbers, and what is still open where that costs nothing."""

    def __init__(self, proof: Proof) -> None:
        self.X, self.F, self.G = proof.X, proof.F, proof.G
        nothing_known = np.full((1, proof.F.shape[1]), -np.inf)
        self._open_bounds = proof.open_bounds() if proof.shows_gap or proof.certified else nothing_known
        self.certified = proof.certified
        self.n_evaluated = proof.n_evaluated
        self.n_pruned = proof.n_pruned
        self.n_undecided = proof.n_undecided

    def open_bounds(self) -> NDArray[np.float64]:
        """As `Proof.open_bounds`."""
        return self._open_bounds


def _kind(problem: LatticeProblem | BitStringProblem, max_bytes: int) -> type[Proof]:
    """The proof that a problem asks for."""
    if isinstance(problem, BitStringProblem):
        return StringProof
    return IntervalProof if bytes_of(problem) > max_bytes else StoredLatticeProof


class BranchAndBoundOutput(Output):  # type: ignore[misc]
    """Columns of a branch and bound: what is evaluated, pruned and undecided, the size of the front, and its gap.

    The gap is a share: for whatever is open some member is, in no objective, worse by more than this share of its own
    value. It is not shown where it would cost a look at every node.
    """

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        for name, width in (("evaluated", 9), ("pruned", 10), ("undecided", 10)):
            self.columns.append(Column(name, width=width, func=attrgetter(f"n_{name}")))
        self.columns.append(Column("front", width=6, func=front_size))
        self.columns.append(Column("gap", width=8, func=_shown_gap))


def _shown_gap(algorithm: BranchAndBound) -> str | None:
    proof = algorithm.proof
    if not proof.shows_gap and not proof.certified:
        return None
    share = share_off(proof.F, proof.open_bounds())
    return f"{share:.2%}" if np.isfinite(share) else None
