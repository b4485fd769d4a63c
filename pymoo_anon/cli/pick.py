"""The command `pick`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from pymoo_anon.cli.console import tell, working
from pymoo_anon.cli.options import WAYS, PickRequest
from pymoo_anon.problems.front import risk_at_most
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.study.folder import SearchFolder
from pymoo_anon.study.options import command, options_named
from pymoo_anon.study.tables import objective


def run_pick(asked: PickRequest, console: Console) -> None:
    """Choose a point, write the choice, and print it."""
    study = SearchFolder.open(asked.file)
    with working("Step 1 of 2: reading the front") as show, options_named(asked):
        front = study.front
        # Points that are made for requirements come after these.
        n_found = len(front)
        if not {*WAYS} & {*asked.given} and not any(one.is_loss for one in front.objectives):
            known = ", ".join(f"--{name}" for name in WAYS)
            raise ValueError(f"one of {known} must say which point to take, as no objective of {asked.file} is a loss")
        show("Step 2 of 2: comparing its points")
        risk = [] if asked.risk is None else [risk_at_most(study.table, asked.risk)]
        bounds = [*study.constraints(asked.require), *risk]
        ways = {"row": asked.row, "knee": asked.knee, **_ways(asked, study)}
        choice = study.pick(bounds, **ways)
        passed = study.passed_over(choice, **ways)
        less = less_lost(front, choice, study.project.suppressed)
    which = f" of {n_found}" if choice.row < n_found else f", made beside the front's {n_found}"
    tell(console, f"Row {choice.row + 1}{which}: {choice.said}.")
    for told in (passed, *(study.explained() if asked.explain else []), less):
        if told:
            tell(console, told)
    tell(console, f"Next: {command('release', asked.file)}")


def _ways(asked: PickRequest, study: SearchFolder) -> dict[str, Any]:
    known, best, weights = study.problem.measured, None, None
    for option, higher in (("least", False), ("most", True)):
        if (name := getattr(asked, option)) is not None:
            best = objective(option, name, study.table, known)
            if best.maximize != higher:
                better, other = ("higher", "most") if best.maximize else ("lower", "least")
                raise ValueError(f"{option} {name}: {better} values of {name} are better; use --{other} {name}")
    if asked.weights is not None:
        weights = {objective("weights", name, study.table, known): own for name, own in asked.weighted().items()}
    return {"best": best, "weights": weights}
