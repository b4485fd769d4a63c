"""The command `pick`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pymoo_anon._messages import counted
from pymoo_anon.cli.console import clear_errors, standard_output, tell, working
from pymoo_anon.cli.declaring import options_named
from pymoo_anon.cli.project import read_project
from pymoo_anon.cli.requests import Wish
from pymoo_anon.cli.results import read_front, write_choice
from pymoo_anon.cli.tables import constraint, objective
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.front import Choice, Front, risk_at_most
from pymoo_anon.publishing.explaining import explain
from pymoo_anon.publishing.less_lost import less_lost


def pick_and_write(wish: Wish) -> None:
    """Choose a point, write the choice, and print it."""
    with clear_errors(), standard_output() as console:
        project = read_project(wish.file)
        with working("Step 1 of 2: reading the front") as show, options_named(wish):
            front, _ = read_front(project)
            show("Step 2 of 2: comparing its points")
            asked = [constraint(text, front.table, front.problem.measured) for text in wish.require]
            asked += [] if wish.risk is None else [risk_at_most(front.table, wish.risk)]
            refusals = [front.refusal(place, project.suppressed, asked) for place in range(len(front))]
            choice = wished(front, wish, asked, refusals)
            less = less_lost(front, choice, project.suppressed)
            write_choice(project, front, choice)
        tell(console, f"Row {choice.row + 1} of {len(front)}: {choice.said}.")
        if wish.explain:
            _explain(console, front, choice, refusals, project.suppressed)
        if less:
            tell(console, less)
        tell(console, f"Next: pymoo-anon release {project.path}")


def _explain(console: Console, front: Front, choice: Choice, refusals: Sequence[str | None], suppressed: str) -> None:
    """Print the meaning of a choice."""
    tell(console, f"It is {choice.reason}.")
    left_out = [(row, why) for row, why in enumerate(refusals, start=1) if why is not None]
    if left_out:
        row, why = left_out[0]
        tell(console, f"{counted(len(left_out), 'point', 'points')} cannot be released. Row {row}: {why}.")
    for requirement in front.requirements(front.place_of(choice), choice.requirements):
        tell(console, f"Required: {requirement}.")
    for line in str(explain(front.problem, front, choice, suppressed=suppressed)).splitlines():
        tell(console, line)


def wished(front: Front, wish: Wish, asked: Sequence[Constraint], refusals: Sequence[str | None]) -> Choice:
    """Choose the point that the options ask for, among those that can be released.

    `asked` are the requirements, `refusals` say why a point cannot be released.

    `asked` is what has to hold.
    """
    n = len(front)
    if wish.row is not None and not 1 <= wish.row <= n:
        raise ValueError(f"--row must be from 1 to {n}, a row of the front, got {wish.row}")
    if wish.row is not None and (why := refusals[wish.row - 1]) is not None:
        raise ValueError(f"--row {wish.row} cannot be released: {why}; pick another row")
    offered = front.only([place for place, why in enumerate(refusals) if why is None])
    if n and not len(offered):
        raise ValueError(f"none of the {n} points of the front can be released. Row 1: {refusals[0]}")
    best = None
    for option, higher in (("least", False), ("most", True)):
        name = getattr(wish, option)
        best = best if name is None else _directed(option, name, higher, front)
    weights = None
    if wish.weights is not None:
        known = front.problem.measured
        weights = {objective("weights", name, front.table, known): own for name, own in wish.weighted().items()}
    return offered.choose(
        require=asked, best=best, row=None if wish.row is None else wish.row - 1, knee=wish.knee, weights=weights
    )


def _directed(option: str, name: str, higher: bool, front: Front) -> Objective:
    """Return the measure of --least or --most."""
    measure = objective(option, name, front.table, front.problem.measured)
    if measure.maximize != higher:
        better, other = ("higher", "most") if measure.maximize else ("lower", "least")
        raise ValueError(f"--{option} {name}: {better} values of {name} are better; use --{other} {name}")
    return measure
