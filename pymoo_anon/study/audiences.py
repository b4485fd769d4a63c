"""Audiences of a project, each with a release of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.arguments import bound
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study.tables import constraint


def problem_for(problem: Any, study: Any) -> Any:
    """Return the problem of an audience.

    A local recoding is inside the releases before it. Levels of whole columns are beside them, and hold the bounds on
    single classes jointly.
    """
    names = list(study.project.audiences)
    names = names[: names.index(study.audience) + 1]
    demands = [
        [constraint(text, problem.table, problem.measured) for text in study.project.audiences[name]["require"]]
        for name in names
    ]
    if not isinstance(problem, LatticeProblem):
        # No other release needs it.
        from pymoo_anon.problems.nesting import nested

        try:
            return nested(problem, demands)[-1].problem
        except ValueError as error:
            raise ValueError(f"audience {study.audience!r} needs releases inside one another: {error}") from None
    beside, bounds = [_before(study, name) for name in names[:-1]], [*problem.constraints, *demands[-1]]
    if beside:
        bounds += _jointly(bounds)
    return LatticeProblem(
        problem.table, problem.objectives, problem.suppression, bounds, levels=problem.levels, beside=beside
    )


def _jointly(bounds: Sequence[Constraint]) -> list[Constraint]:
    """Return the bounds on single classes for joint classes."""
    own = [one for one in bounds if one.speaks_of_classes]
    for one in own:
        if one.depends_on_kept:
            raise ValueError(f"audience needs bounds without background knowledge beside other releases, got {one!r}")
    return [replace(one, objective=one.objective.jointly()) for one in own]


def _before(study: Any, name: str) -> Choice:
    """Return the choice for an earlier audience, as it was released if it was."""
    other = study.for_audience(name)
    x = next((one.x for one in reversed(study.releases) if one.audience == name), None)
    if x is None:
        made: Choice = other.choice
        return made
    front = Front(other.problem, np.array([x]))
    if len(front) == 0:
        raise ValueError(
            f"audience {study.audience!r} comes after {name!r}, whose release misses what it requires by now; release "
            "that again"
        )
    return front.choose(row=0)


def search_for(study: Any) -> tuple[Front, Mapping[str, Any]]:
    """Return the front of an audience, and facts about its search.

    Of local recodings it has one point. Levels are searched as the project says, without a time limit.

    Raises:
        ValueError: Nothing satisfies all bounds.
    """
    problem, record = study.problem, study.record
    if not isinstance(problem, LatticeProblem):
        return problem.front([problem.x_of(0)]), record
    # No other audience is searched.
    from pymoo_anon.study.search import algorithm_for, search
    from pymoo_anon.study.settings import Settings

    known = ("algorithm", "generations", "pop_size", "epsilon", "seed")
    settings = Settings(**{name: record["options"][name] for name in known})
    name, why = algorithm_for(problem, settings)
    found = search(problem, name, settings)
    if found.interrupted:
        raise KeyboardInterrupt
    if len(found.front) == 0:
        bounds = " and ".join(bound(one, problem.names[one.objective]) for one in problem.constraints)
        others = " beside the releases before it" * (problem.beside_parts is not None)
        among = "" if found.front.certified else f" among the {problem.n_unique:,} that were visited"
        raise ValueError(
            f"audience {study.audience!r} needs a generalization with {bounds}{others}, got none{among}; require less, "
            "allow more suppression, or name the audience with the coarsest release first"
        )
    proof = {"certified": found.front.certified, "n_undecided": found.n_undecided, "stopped": found.stopped}
    return found.front, {"algorithm": {"name": name, "why": why}, **proof}


def choice_for(study: Any) -> Choice:
    """Return the point for an audience: of those that can be released the one with the least loss."""
    front = study.front
    offered = front.only([place for place, why in enumerate(study.refusals()) if why is None])
    # A release refuses other points, or says why it was made anyway.
    offered = offered if len(offered) else front
    made: Choice = offered.choose(row=int(offered.rows[0])) if len(offered) == 1 else offered.choose()
    return made
