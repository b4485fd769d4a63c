"""Worked examples of algorithms, problems and operators, with pictures."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import pictures
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection

from pymoo_anon import algorithms, operators, problems
from pymoo_anon.operators import Neighborhood
from pymoo_anon.problems import AnonymizationProblem

#: A table of four quasi-identifiers with a lattice small enough for a picture.
TABLE = """\
from pymoo_anon.datasets import census_rows, load_hierarchy
from pymoo_anon.table import Microdata

(rows,) = census_rows(2000)
ways = {name: load_hierarchy(name).with_numbers(int) for name in ("age", "workclass", "race", "sex")}
table = Microdata.from_frame(rows, ways, sensitive="occupation", label="salary-class")
"""
GOALS = "[KAnonymity(), GeneralLossMetric()]"
LEVELS = f"problem = LatticeProblem(table, {GOALS}, suppression=0.01)"
BITS = (
    f"trees = {{'workclass': load_taxonomy('workclass')}}\nproblem = BitStringProblem(table, {GOALS}, taxonomies=trees)"
)
LEAST = "problem = {}(table, [GeneralLossMetric()], suppression=Below(10))"
DEMAND = "problem = LatticeProblem(table, [GeneralLossMetric()], Violating(0.01), [KAnonymity() >= 5])"
#: By algorithm its problem, and how it is run.
RUNS = {
    "BitStringLocalSearch": (BITS, "BitStringLocalSearch(), ('n_eval', 300)"),
    "BranchAndBound": (LEVELS, "BranchAndBound()"),
    "Datafly": (DEMAND, "Datafly()"),
    "ExhaustiveSearch": (LEVELS, "ExhaustiveSearch()"),
    "GENITOR": (LEAST.format("BitStringProblem"), "GENITOR(pop_size=50), ('n_eval', 1000)"),
    "PBGEA": (LEVELS, "PBGEA(pop_size=10), ('n_gen', 20)"),
    "ParetoLocalSearch": (LEVELS, "ParetoLocalSearch(), ('n_eval', 60)"),
    "PreferenceNSGA2": (
        "points = [PreferredPoint((0.2, 1.0)), PreferredPoint((0.2, 0.1))]\n"
        "problem = BitStringProblem(table, [*points, KAnonymity()])",
        "PreferenceNSGA2(k=5, pop_size=50), ('n_gen', 40)",
    ),
    "SamaratiSearch": (DEMAND, "SamaratiSearch()"),
    "TargetSweep": (f"problem = LocalRecodingProblem(table, {GOALS})", "TargetSweep(n_targets=20)"),
}
#: By problem the algorithm that shows it.
SHOWN_BY = {
    "BitStringProblem": "BitStringLocalSearch",
    "LatticeProblem": "BranchAndBound",
    "LocalRecodingProblem": "TargetSweep",
}
NODES = "before = LatticeSampling().do(problem, 6, random_state=rng)[4:]"
STRINGS = "before = BitStringSampling().do(problem, 4, random_state=rng)[2:]"
OTHER = "do(problem, before, random_state=rng, inplace=False)"
CROSSED = "do(problem, before, [[0, 1]], random_state=rng)"
#: Problem, input and call of each operator.
CALLS = {
    "BitStringNeighborhood": (
        BITS,
        STRINGS.replace("2:", "2:3"),
        "BitStringNeighborhood().do(problem, before[0].X, 1, random_state=rng)[:6]",
    ),
    "BitStringSampling": (BITS, "", "BitStringSampling().do(problem, 4, random_state=rng)"),
    "ClosestValidRepair": (
        BITS,
        f"{STRINGS}\nbefore = PerAttributeBitMutation(0.3).{OTHER}",
        "ClosestValidRepair().do(problem, deepcopy(before), random_state=rng)",
    ),
    "CornerSampling": (LEVELS, "", "CornerSampling().do(problem, 10, random_state=rng)"),
    "DominanceCountTournament": (
        LEVELS,
        "before = Evaluator().eval(problem, LatticeSampling().do(problem, 6, random_state=rng))",
        "DominanceCountTournament().do(problem, before, 4, 1, to_pop=True, random_state=rng).ravel()",
    ),
    "LatticeSampling": (LEVELS, "", "LatticeSampling().do(problem, 6, random_state=rng)"),
    "LevelCrossover": (LEVELS, NODES, f"LevelCrossover(prob=1).{CROSSED}"),
    "LevelNeighborhood": (
        LEVELS,
        NODES.replace("4:", "4:5"),
        "LevelNeighborhood().do(problem, before[0].X, 1, random_state=rng)",
    ),
    "PartitionCrossover": (BITS, STRINGS, f"PartitionCrossover().{CROSSED}"),
    "PerAttributeBitMutation": (BITS, STRINGS, f"PerAttributeBitMutation().{OTHER}"),
    "RandomImmigrantMutation": (BITS, STRINGS, f"RandomImmigrantMutation(prob=0.5).{OTHER}"),
    "ReducedSurrogateCrossover": (BITS, STRINGS, f"ReducedSurrogateCrossover().{CROSSED}"),
    "SingleStepMutation": (LEVELS, NODES, f"SingleStepMutation(prob_var=0.5).{OTHER}"),
}


def shown():
    """List the classes of one kind with a worked example."""
    bases = (AnonymizationProblem, Neighborhood)
    kinds = (Algorithm, Problem, Sampling, Crossover, Mutation, Repair, Selection, Neighborhood)
    listed = [getattr(room, name) for room in (algorithms, problems, operators) for name in room.__all__]
    return [own for own in listed if inspect.isclass(own) and issubclass(own, kinds) and own not in bases]


def example_page(own, folder):
    """Write the worked example of one class: code, output, picture."""
    name = own.__name__
    code, printed, figure = operator_example(name) if name in CALLS else run_example(SHOWN_BY.get(name, name))
    figure.savefig(folder / f"{name}.png", dpi=90)
    code, printed = ("\n".join(f"   {line}".rstrip() for line in text.splitlines()) for text in (code, printed))
    return (
        f"Worked example\n--------------\n\n.. code-block:: python\n\n{code}\n\n.. code-block:: text\n\n{printed}\n\n"
        f".. image:: /generated/pictures/{name}.png\n   :alt: {name} at work\n"
    )


@cache
def table():
    """Return the table of the examples."""
    return executed(TABLE)["table"]


def executed(code):
    """Run a program, and return its names."""
    names = {}
    exec(compile(code, "<worked example>", "exec"), names)
    return names


def program(*lines):
    """Run a program on the table, with the imports of its names."""
    text = "\n".join(line for line in lines if line)
    homes = {
        "copy": ["deepcopy"],
        "pymoo.core.evaluator": ["Evaluator"],
        "pymoo.optimize": ["minimize"],
        "pymoo_anon.algorithms": algorithms.__all__,
        "pymoo_anon.datasets": ["load_taxonomy"],
        "pymoo_anon.operators": operators.__all__,
        "pymoo_anon.problems": problems.__all__,
        "pymoo_anon.table": ["Below", "Violating"],
        "pymoo_anon.objectives": ["GeneralLossMetric", "KAnonymity"],
    }
    needed = {home: [name for name in names if f"{name}(" in text] for home, names in homes.items()}
    imports = [f"from {home} import {', '.join(names)}" for home, names in needed.items() if names]
    return "\n".join(["import numpy as np"] * ("np." in text) + imports + [TABLE + text.replace("'", '"')])


@cache
def run_example(name):
    """Run an algorithm, and draw its points among all generalizations by levels."""
    problem, call = RUNS[name]
    ends = "\nres.picks" if name == "PreferenceNSGA2" else "\nproblem.to_frame(res)"
    code = program(problem, f"res = minimize(problem, {call}, seed=1){ends}")
    names = executed(code)
    res = names["res"]
    found = res.picks if name == "PreferenceNSGA2" else names["problem"].to_frame(res)
    printed = found.head(8).to_string(index=False, max_colwidth=40)
    if len(found) > 8:
        printed += f"\n... {len(found)} rows"
    classes = [names["problem"].equivalence_classes(x) for x in np.atleast_2d(res.X)]
    return code, printed, pictures.plot_found(names["table"], classes)


def operator_example(name):
    """Call an operator, and draw the points before and after."""
    problem, given, call = CALLS[name]
    code = program(problem, "rng = np.random.default_rng(1)", given, f"after = {call}")
    names = executed(code)
    points = {when: matrix(names[when]) for when in ("before", "after") if when in names}
    own = names["problem"]
    attributes = list(own.table.quasi_identifiers)
    cuts = getattr(own, "bit_offsets", np.arange(len(attributes) + 1))[1:-1]
    rows = [
        [when if "before" in points else "", *("".join(map(str, part)) for part in np.split(x, cuts))]
        for when in points
        for x in points[when]
    ]
    printed = pd.DataFrame(rows, columns=["", *attributes]).to_string(index=False)
    return code, printed, pictures.plot_points(points, attributes, [0, *cuts])


def matrix(points):
    """(n, n_var) int array of a population, or of points."""
    rows = points.get("X") if isinstance(points, Population) else points
    return np.atleast_2d(rows).astype(int)
