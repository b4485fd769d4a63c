"""Cost of proofs by branch and bound, and the gaps of unfinished ones.

    python -m benchmarks.speed.exact [--only stored large strings long_strings unstored local_search]

The five sets of objectives of Dewri et al. 2010 on Adult with at most 301 suppressed tuples; Adult with twelve
quasi-identifiers; and bit strings: Lunacek et al.'s problem, fronts of k and loss, and the 105 bits of Dewri et al.
2009. Then, on pages of their own, `unstored.py` and `local_search.py`.
Each part runs in a process of its own, which tells its memory. A part that is not asked for keeps its earlier results.
About half an hour; needs Adult.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks import record
from benchmarks.speed.exact_runs import REPEATS, RUNS


def run(part: str) -> dict:
    """Run one part, and return its figures and peak memory."""
    found: dict[str, Any] = RUNS[part]()
    return {**found, "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "machine": record.machine()}


def stored_text(part: dict) -> str:
    rows = [
        [
            one["objectives"],
            f"{one['nodes']:,} ({one['nodes'] / one['lattice']:.1%})",
            f"{one['paper']:,}",
            str(one["front"]),
            "yes" if one["certified"] else "no",
            f"{one['seconds']:.3f}",
            f"{one['exhaustive']:.3f}",
            f"{one['numpy nodes']:.0f}",
        ]
        for one in part["sets"]
    ]
    head = [
        "objectives",
        "nodes",
        "paper's PBG-EA",
        "front",
        "certified",
        "seconds",
        "exhaustive search",
        "numpy nodes",
    ]
    return "\n\n".join(
        [
            f"Adult, {part['sets'][0]['lattice']:,} nodes ({part['sets'][-1]['lattice']:,} with the class as label), "
            f"at most 301 suppressed tuples; medians of {REPEATS} runs; "
            f"{record.line(part['machine'])}.",
            "Nodes that branch and bound evaluates until the exact front is proven, and its seconds of the processor "
            "beside those of exhaustive search, which gives the same front. The paper's PBG-EA evaluates so many nodes "
            "without a proof. *Numpy nodes*: the seconds, as single nodes of the numpy program "
            f"({part['sets'][0]['numpy node'] * 1e3:.2f} ms each in the first row; all three take turns):",
            record.markdown(head, rows),
        ]
    )


def large_text(part: dict) -> str:
    end = "certified." if part["certified"] else f"{part['undecided']:,} nodes undecided."
    return (
        f"Twelve quasi-identifiers, {part['lattice']:,} nodes, {part['distinct tuples']:,} distinct tuples, k and "
        f"GLM: {part['evaluated']:,} nodes evaluated and {part['pruned']:,} pruned in {part['seconds']:.1f} s on two "
        f"threads, with at most {part['GB']:.1f} GB of memory; front of {part['front']}, {end}"
    )


def runs_table(runs: dict[str, dict]) -> str:
    rows = [
        [
            name,
            "yes" if one["certified"] else "no",
            f"{one['seconds']:.1f}",
            f"{one['front']:,}",
            f"{one['proven']:,}",
            f"{one['gap']:.1%}",
            f"{min(member[-1] for member in one['F']):,.2f}" if one["F"] else "none",
            f"{one['evaluated']:,}",
            f"{one['pruned']:,}",
        ]
        for name, one in runs.items()
    ]
    head = ["problem", "certified", "seconds", "front", "proven", "largest gap", "least loss", "evaluated", "pruned"]
    return record.markdown(head, rows)


def strings_text(part: dict) -> str:
    return "\n\n".join(
        [
            f"Bit strings, {float(part['strings']):.2g} valid ones of 92 bits, on two threads, with at most "
            f"{part['GB']:.1f} GB of memory; {record.line(part['machine'])}:",
            runs_table(part["runs"]),
        ]
    )


# matplotlib has ten colors.
LINES = ("-", "--")


def draw(runs: dict[str, dict]) -> None:
    """Draw the gap over time of every long proof."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for i, (name, one) in enumerate(runs.items()):
        seconds = [point["seconds"] for point in one["course"]]
        gaps = [100 * min(point["gap"], 1.0) for point in one["course"]]
        if len(seconds) > 1:
            axis.step(np.maximum(seconds, 0.1), gaps, where="post", label=name, color=f"C{i}", linestyle=LINES[i // 10])
    axis.set_xscale("log")
    axis.set_xlabel("seconds")
    axis.set_ylabel("largest gap (% of the loss)")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="x-small")
    figure.savefig(record.RESULTS / "exact_gap.png", dpi=110)


TEXTS = {"stored": stored_text, "large": large_text, "strings": strings_text, "long_strings": strings_text}

# Benchmarks with a page of their own.
PAGES = ("unstored", "local_search")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*RUNS, *PAGES], default=[*RUNS, *PAGES], help="the parts to run")
    asked = parser.parse_args().only
    file = record.RESULTS / "exact.json"
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    figures = {part: earlier[part] for part in RUNS if part in earlier}
    for part in asked:
        if part in PAGES:
            subprocess.run([sys.executable, "-m", f"benchmarks.speed.{part}"], check=True)
            continue
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            figures[part] = pool.submit(run, part).result()
        text = "\n\n".join(TEXTS[name](figures[name]) for name in RUNS if name in figures)
        record.write("exact", figures, text)
    runs = {
        name: one
        for part in ("strings", "long_strings")
        if part in figures
        for name, one in figures[part]["runs"].items()
    }
    if runs:
        draw(runs)


if __name__ == "__main__":
    main()
