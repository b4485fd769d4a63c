"""Tables 1(b), 2(a), 2(b) and Figures 1 to 3 of Dewri et al. 2010, beside the paper's figures.

    python benchmarks/dewri2010.py

PBG-EA as in the paper's section 7: population 25, 100 iterations, crossover 0.8, mutation 1 / quasi-identifiers, at
most 1 % of the tuples suppressed, 20 runs. The paper's hierarchies are not known; these are the packaged ones, of the
same lengths, so that its figures are a reference and not an oracle. About a minute; needs Adult.
"""

from __future__ import annotations

import time

import numpy as np
import record
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.fronts import ConvergenceError, RepresentationRatio
from pymoo_anon.objectives import (
    ClassificationMetric,
    ClassSizeSum,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SensitiveCountSum,
)
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.visualization import plot_fronts

SEEDS = range(1, 21)

k, s_k, glm = KAnonymity(), ClassSizeSum(), GeneralLossMetric()
l, s_l, cm = DistinctLDiversity("occupation"), SensitiveCountSum("occupation"), ClassificationMetric("salary-class")  # noqa: E741

# Objectives, class label; what Table 1(b) and 2(b) print: CE, RR, distinct nodes.
SETS = {
    "k, GLM": ([k, glm], None, ("3.7e-4 (6.5e-9)", "0.94 (8e-4)", "916 (5.1%)")),
    "k, l, GLM": ([k, l, glm], None, ("3.3e-4 (1.1e-7)", "0.93 (1.1e-3)", "946 (5.3%)")),
    "S_k, GLM": ([s_k, glm], None, ("5.7e-4 (2.5e-7)", "0.84 (1.7e-3)", "1136 (6.3%)")),
    "S_k, S_l, GLM": ([s_k, s_l, glm], None, ("6.6e-4 (2.0e-7)", "0.83 (1.4e-3)", "1197 (6.7%)")),
    "k, GLM, CM": ([k, glm, cm], "salary-class", ("–", "–", "1073 (11.9%)")),
}
# Objectives and epsilon; what Table 2(a) prints: CE, RR.
EPSILONS = (
    ("k, GLM", (5, 100), ("4.3e-4", "0.95")),
    ("k, GLM", (10, 1000), ("1.6e-4", "0.98")),
    ("k, GLM", (50, 10_000), ("1.7e-4", "1.0")),
    ("k, l, GLM", (10, 4, 1000), ("4.9e-3", "0.92")),
    ("k, l, GLM", (50, 6, 10_000), ("7.4e-3", "0.92")),
)
FIGURES = {
    "figure1_k_GLM": "k, GLM",
    "figure1_k_l_GLM": "k, l, GLM",
    "figure2_Sk_GLM": "S_k, GLM",
    "figure2_Sk_Sl_GLM": "S_k, S_l, GLM",
    "figure3_k_GLM_CM": "k, GLM, CM",
}


def experiment(name: str, epsilon: tuple[float, ...] | float = 1.0) -> dict:
    """Twenty runs of PBG-EA on one set of objectives against the exact front."""
    objectives, label, _ = SETS[name]
    table = fetch_adult(label=label)
    problem = LatticeProblem(table, objectives, suppression=0.01)
    pf = problem.pareto_front()
    mean, total, ratio = ConvergenceError(pf), ConvergenceError(pf, total=True), RepresentationRatio(pf, epsilon)
    runs = []
    for seed in SEEDS:
        own = LatticeProblem(table, objectives, suppression=0.01)
        began = time.perf_counter()
        res = minimize(own, PBGEA(pop_size=25, epsilon=epsilon), ("n_gen", 100), seed=seed)
        seconds = time.perf_counter() - began
        runs.append(
            {
                "seed": seed,
                "CE": mean(res.F),
                "CE sum": total(res.F),
                "RR": ratio(res.F),
                "nodes": own.n_unique,
                "archive": len(res.F),
                "seconds": seconds,
                "F": res.F,
            }
        )
    return {
        "objectives": name,
        "epsilon": epsilon,
        "lattice": problem.n_nodes,
        "front": len(pf),
        "boxes": len(ratio.boxes),
        "problem": problem,
        "runs": runs,
    }


def summary(found: dict, key: str, form: str) -> str:
    """Mean and variance over the runs, as the paper prints them."""
    values = [run[key] for run in found["runs"]]
    return f"{np.mean(values):{form}} ({np.var(values, ddof=1):.1e})"


def tables(sets: list[dict], epsilons: list[dict]) -> str:
    """The three tables in markdown."""
    first = [
        [
            found["objectives"],
            str(found["front"]),
            summary(found, "CE", ".1e"),
            SETS[found["objectives"]][2][0],
            f"{np.mean([run['CE sum'] for run in found['runs']]):.1e}",
            summary(found, "RR", ".3f"),
            SETS[found["objectives"]][2][1],
        ]
        for found in sets
    ]
    nodes = []
    for found in sets:
        mean, lattice = np.mean([run["nodes"] for run in found["runs"]]), found["lattice"]
        nodes.append(
            [
                found["objectives"],
                f"{lattice:,}",
                f"{mean:.0f} ({mean / lattice:.1%})",
                SETS[found["objectives"]][2][2],
                f"{np.median([run['seconds'] for run in found['runs']]):.2f}",
            ]
        )
    second = [
        [
            found["objectives"],
            ", ".join(f"{e:,}" for e in found["epsilon"]),
            str(found["boxes"]),
            summary(found, "CE", ".1e"),
            paper[0],
            summary(found, "RR", ".3f"),
            paper[1],
        ]
        for found, (_, _, paper) in zip(epsilons, EPSILONS, strict=True)
    ]
    return "\n\n".join(
        [
            f"Mean (variance) over {len(SEEDS)} runs; {record.line(record.machine())}.",
            "Table 1(b), convergence error (CE, lower is better) and representation ratio (RR, higher is better):",
            record.markdown(["objectives", "front", "CE", "paper", "CE as a sum", "RR", "paper"], first),
            "Table 2(a), with larger boxes (in the paper's text the last two rows are scrambled):",
            record.markdown(["objectives", "ε", "boxes", "CE", "paper", "RR", "paper"], second),
            "Table 2(b), distinct nodes evaluated:",
            record.markdown(["objectives", "lattice", "nodes", "paper", "seconds a run"], nodes),
        ]
    )


def main() -> None:
    sets = [experiment(name) for name in SETS]
    epsilons = [experiment(name, epsilon) for name, epsilon, _ in EPSILONS]
    for file, name in FIGURES.items():
        found = next(one for one in sets if one["objectives"] == name)
        fronts = {"PBG-EA": found["runs"][0]["F"], "Exhaustive search": found["problem"].pareto_front()}
        plot_fronts(found["problem"], fronts, record.RESULTS / f"dewri2010_{file}.png")
    text = tables(sets, epsilons)
    figures = {"machine": record.machine(), "experiments": []}
    for found in (*sets, *epsilons):
        runs = [{key: value for key, value in run.items() if key != "F"} for run in found["runs"]]
        figures["experiments"].append({**{k: v for k, v in found.items() if k != "problem"}, "runs": runs})
    record.write("dewri2010", figures, text)


if __name__ == "__main__":
    main()
