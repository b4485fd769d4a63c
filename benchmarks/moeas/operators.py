"""Study of operators: crossover, mutation, sampling and selection by space, and PBG-EA's parameters.

    python -m benchmarks.moeas.operators                     all parts, 31 seeds
    python -m benchmarks.moeas.operators --only levels       one part anew; the others stay
    python -m benchmarks.moeas.operators --quick             small problems of invented rows, 3 seeds

One thing is changed at a time. The parts `levels` and `strings` put operators of this package and plain ones of pymoo
into NSGA-II with a population of 25, the part `pbgea` changes parameters of PBG-EA. Runs are looked at after so many
distinct points, in *all that they saw*, as an archive without bounds keeps it, since a population of 25 cannot hold the
fronts. Fronts are proven. One process; half an hour. All but `--quick` needs Adult.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.operators.crossover.hux import HUX
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.nom import NoMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, IntegerRandomSampling

from benchmarks import record
from benchmarks.moeas.problems import QUICK_TASKS, TASKS, by_branch_and_bound
from benchmarks.moeas.runs import Budgets, Judge, judged, run, values_of
from benchmarks.moeas.statistics import interval, marked, median
from benchmarks.tables import crossover_problem, glm, k, operators_of
from pymoo_anon.algorithms import PBGEA, ParetoLocalSearch
from pymoo_anon.datasets import load_taxonomy, make_census
from pymoo_anon.datasets.adult import TAXONOMIES
from pymoo_anon.operators import (
    BitStringNeighborhood,
    CornerSampling,
    DominanceCountTournament,
    LevelCrossover,
    LevelNeighborhood,
    Neighborhood,
    PartitionCrossover,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
    SingleStepMutation,
)
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem

SEEDS, QUICK_SEEDS = 31, 3
POPULATION = 25

#: Setting, name, and factory of each variant.
Setting = tuple[str, str, Callable[[AnonymizationProblem], Algorithm]]


class Part(NamedTuple):
    """One part of the page."""

    title: str
    settings: Sequence[Setting]  # The others are compared with the first
    problems: Mapping[str, Callable[[], AnonymizationProblem]]
    distinct: tuple[int, ...]  # The numbers of distinct points at which runs are looked at; tests are of the last
    measure: str  # What is tested: "RR", or "HV" where runs find next to nothing of the front itself
    quick: Mapping[str, Callable[[], AnonymizationProblem]]  # The same with invented rows


def rounded(kind: Any, **options: Any) -> Any:
    return kind(repair=RoundingRepair(), **options)


def nsga2(problem: AnonymizationProblem, **changed: Callable[[], Any]) -> Algorithm:
    """NSGA-II with this package's operators, but for those that are changed."""
    return NSGA2(pop_size=POPULATION, **operators_of(problem) | {name: make() for name, make in changed.items()})


def pbgea(problem: AnonymizationProblem, mutation: float = 1.0, crossover: float = 0.8, **options: Any) -> Algorithm:
    """Make PBG-EA with a mutation rate in variables per node."""
    own = {"pop_size": POPULATION, **options}
    return PBGEA(
        crossover=LevelCrossover(prob=crossover), mutation=SingleStepMutation(prob_var=mutation / problem.n_var), **own
    )


def local_search(problem: AnonymizationProblem, neighborhood: Callable[[], Neighborhood]) -> Algorithm:
    return ParetoLocalSearch(neighborhood=neighborhood())


SBX_CUT = partial(rounded, SBX, prob=1.0, eta=3.0)
SBX_ROUNDED = partial(rounded, SBX, prob=1.0, eta=3.0, vtype=float)
PM_CUT = partial(rounded, PM, prob=1.0, eta=3.0)
PM_ROUNDED = partial(rounded, PM, prob=1.0, eta=3.0, vtype=float)

Changed = tuple[str, str, Mapping[str, Callable[[], Any]]]


def settings(ours: str, *changed: Changed) -> list[Setting]:
    """Return NSGA-II with this package's operators, and with each of the changes."""
    return [(group, name, partial(nsga2, **own)) for group, name, own in (("ours", ours, {}), *changed)]


LEVELS: list[Setting] = [
    *settings(
        "LatticeSampling, LevelCrossover, SingleStepMutation",
        ("crossover", "LevelCrossover, always", {"crossover": partial(LevelCrossover, prob=1.0)}),
        ("crossover", "ReducedSurrogateCrossover", {"crossover": ReducedSurrogateCrossover}),
        ("crossover", "UX of pymoo", {"crossover": UX}),
        ("crossover", "TwoPointCrossover of pymoo", {"crossover": TwoPointCrossover}),
        ("crossover", "SBX of pymoo, vtype=float", {"crossover": SBX_ROUNDED}),
        ("crossover", "SBX of pymoo, without vtype", {"crossover": SBX_CUT}),
        ("crossover", "none", {"crossover": partial(LevelCrossover, prob=0.0)}),
        ("mutation", "SingleStepMutation, twice as often", {"mutation": partial(SingleStepMutation, 0.25)}),
        ("mutation", "PM of pymoo, eta 3", {"mutation": PM_ROUNDED}),
        ("mutation", "PM of pymoo, eta 20", {"mutation": partial(rounded, PM)}),
        ("mutation", "none", {"mutation": NoMutation}),
        ("sampling", "CornerSampling", {"sampling": CornerSampling}),
        ("sampling", "IntegerRandomSampling of pymoo", {"sampling": IntegerRandomSampling}),
        ("selection", "DominanceCountTournament", {"selection": DominanceCountTournament}),
        (
            "all of pymoo",
            "SBX and PM, vtype=float",
            {"sampling": IntegerRandomSampling, "crossover": SBX_ROUNDED, "mutation": PM_ROUNDED},
        ),
        (
            "all of pymoo",
            "SBX and PM, without vtype",
            {"sampling": IntegerRandomSampling, "crossover": SBX_CUT, "mutation": PM_CUT},
        ),
    ),
    *[
        (
            "local search",
            f"LevelNeighborhood, {reach} step{'s' * (reach > 1)}",
            partial(local_search, neighborhood=partial(LevelNeighborhood, reach)),
        )
        for reach in (1, 2, 3)
    ],
]

BOUNDARIES_TOO = partial(PartitionCrossover, boundaries=True)
STRINGS: list[Setting] = [
    *settings(
        "BitStringSampling, PartitionCrossover, PerAttributeBitMutation",
        ("crossover", "PartitionCrossover, 2 points", {"crossover": partial(PartitionCrossover, 2)}),
        ("crossover", "PartitionCrossover, boundaries too", {"crossover": BOUNDARIES_TOO}),
        ("crossover", "ReducedSurrogateCrossover", {"crossover": ReducedSurrogateCrossover}),
        ("crossover", "TwoPointCrossover of pymoo", {"crossover": TwoPointCrossover}),
        ("crossover", "UX of pymoo", {"crossover": UX}),
        ("crossover", "HUX of pymoo", {"crossover": HUX}),
        ("crossover", "none", {"crossover": partial(PartitionCrossover, prob=0.0)}),
        ("mutation", "RandomImmigrantMutation", {"mutation": RandomImmigrantMutation}),
        ("mutation", "BitflipMutation of pymoo", {"mutation": BitflipMutation}),
        ("mutation", "none", {"mutation": NoMutation}),
        ("sampling", "BinaryRandomSampling of pymoo", {"sampling": BinaryRandomSampling}),
        ("selection", "DominanceCountTournament", {"selection": DominanceCountTournament}),
        (
            "all of pymoo",
            "TwoPointCrossover, BitflipMutation",
            {"sampling": BinaryRandomSampling, "crossover": TwoPointCrossover, "mutation": BitflipMutation},
        ),
    ),
    ("local search", "BitStringNeighborhood", partial(local_search, neighborhood=BitStringNeighborhood)),
]

PBGEAS: list[Setting] = [
    ("ours", "population 25, crossover 0.8, mutation 1, steps 1", pbgea),
    *[("population", str(n), partial(pbgea, pop_size=n)) for n in (5, 10, 50, 100, 200)],
    *[("crossover", f"{rate:g}", partial(pbgea, crossover=rate)) for rate in (0, 0.4, 1)],
    *[("mutation", f"{rate:g}", partial(pbgea, mutation=rate)) for rate in (0.25, 0.5, 2, 4)],
    *[("boxes", f"side {side:,} of GLM", partial(pbgea, epsilon=[1, side])) for side in (100, 1000, 5000)],
]


def _invented_strings() -> BitStringProblem:
    taxonomies = {name: load_taxonomy(name) for name in TAXONOMIES}
    return BitStringProblem(make_census(60), [k, glm], taxonomies=taxonomies)


PARTS = {
    "levels": Part(
        "Levels",
        LEVELS,
        {name: TASKS["lattice"][name].make for name in ("k, GLM", "k, l, GLM")},
        (200, 400, 800),
        "RR",
        {"k, GLM": QUICK_TASKS["lattice"]["k, GLM"].make},
    ),
    "strings": Part(
        "Bit strings",
        STRINGS,
        {"k, GLM, four taxonomies, nothing suppressed": partial(crossover_problem, [k, glm], 0, None)},
        (400, 800, 1600),
        "HV",
        {"k, GLM, four taxonomies": _invented_strings},
    ),
    "pbgea": Part(
        "Parameters of PBG-EA",
        PBGEAS,
        {name: TASKS["lattice"][name].make for name in ("k, GLM", "S_k, GLM")},
        (200, 400, 800),
        "RR",
        {"k, GLM": QUICK_TASKS["lattice"]["k, GLM"].make},
    ),
}


def studied(part: Part, problem: AnonymizationProblem, seeds: int, distinct: tuple[int, ...]) -> dict[str, Any]:
    """Run all settings of a part, and return the values by budget and measure."""
    reference = by_branch_and_bound(problem)
    judge, last = Judge(problem, reference), f"distinct {distinct[-1]}"
    # A run that meets the same points again and again ends after five times as many evaluations.
    budgets = Budgets(distinct, (distinct[0],), 5 * distinct[-1])
    rows = []
    for group, name, make in part.settings:
        runs = [judged(run(problem, make(problem), seed, budgets), judge) for seed in range(1, seeds + 1)]

        def values(result: str, budget: str, measure: str, runs: list[dict[str, Any]] = runs) -> list[float]:
            return np.round(values_of(runs, result, budget, measure), 5).tolist()

        seen = {one: {str(n): values("seen", f"distinct {n}", one) for n in distinct} for one in ("RR", "HV")}
        evaluations = float(np.median([one["spent"][last][1] for one in runs]))
        own = {"own RR": values("own", last, "RR"), "evaluations": evaluations}
        rows.append({"group": group, "name": name, **seen, **own})
    return {"front": len(reference), "seeds": seeds, "distinct": list(distinct), "rows": rows}


def table(found: Mapping[str, Any], tested: str) -> str:
    *earlier, last = [str(n) for n in found["distinct"]]
    other = "HV" if tested == "RR" else "RR"
    head = ["", "changed to", *(f"{tested}, {n}" for n in (*earlier, last))]
    head += ["A", "", f"{other}, {last}", "own RR", "evaluations"]
    lines = []
    ours, *others = (row[tested][last] for row in found["rows"])
    # All tests of a table are corrected together.
    for row, (own, mark) in zip(found["rows"], [(0.5, ""), *marked([(one, ours) for one in others])], strict=True):
        low, high = interval(row[tested][last])
        line = [row["group"], row["name"], *(f"{median(row[tested][n]):.3f}" for n in earlier)]
        line += [f"{median(row[tested][last]):.3f} [{low:.3f}, {high:.3f}]", f"{own:.2f}", mark]
        line += [f"{median(row[other][last]):.4f}", f"{median(row['own RR']):.3f}", f"{row['evaluations']:,.0f}"]
        lines.append(line)
    return record.markdown(head, lines)


def page(found: Mapping[str, Any]) -> str:
    texts = []
    for part, own in found.items():
        texts.append(f"## {PARTS[part].title}\n\n{record.line(own['machine'])}.")
        for name, problem in own["problems"].items():
            texts.append(f"{name}: {problem['front']} points in the front, {problem['seeds']} seeds.")
            texts.append(table(problem, PARTS[part].measure))
    return record.words("operators", parts="\n\n".join(texts))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="the parts to run")
    parser.add_argument("--seeds", type=int, help=f"seeds from 1 to this number, {SEEDS} by default")
    parser.add_argument("--quick", action="store_true", help="small problems of invented rows, few seeds")
    asked = parser.parse_args(arguments)
    seeds = asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS)
    if asked.quick:
        # Results on invented rows must not stand among the others.
        record.RESULTS = Path(tempfile.mkdtemp(prefix="operators-quick-"))
    found = record.stored("operators")
    for name in asked.only:
        part = PARTS[name]
        distinct = (50, 100) if asked.quick else part.distinct
        problems = part.quick if asked.quick else part.problems
        made = {one: studied(part, make(), seeds, distinct) for one, make in problems.items()}
        found[name] = {"machine": record.machine(), "problems": made}
        found = {one: found[one] for one in PARTS if one in found}
        record.write("operators", found, page(found))


if __name__ == "__main__":
    main()
