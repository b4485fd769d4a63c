"""The claims of Lunacek et al. 2006, looked at in the trials that `lunacek2006.py` runs.

A claim is looked at for every population: it holds where the difference is significant at 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from benchmarks import record

POPULATIONS = (200, 500, 1000)
TRIALS = 15
EVALUATIONS = 30_000
GRID = np.arange(1000, EVALUATIONS + 1, 1000)
EARLY = (5000, 10_000)
NEAR = 1.002
READINGS = ("NEW beside", "NEW in place")

Found = Sequence[tuple[bool, str]]


class Trials:
    """All runs, by variant and population."""

    def __init__(self, runs: list[dict]) -> None:
        self.runs = runs

    def of(self, variant: str, population: int) -> list[dict]:
        return [run for run in self.runs if (run["variant"], run["population"]) == (variant, population)]

    def losses(self, variant: str, population: int) -> np.ndarray:
        return np.array([run["loss"] for run in self.of(variant, population)])

    def all_losses(self, variant: str) -> np.ndarray:
        return np.concatenate([self.losses(variant, p) for p in POPULATIONS])

    def curves(self, variant: str, population: int) -> np.ndarray:
        return np.array([run["curve"] for run in self.of(variant, population)])

    def after(self, evaluations: int, variant: str, population: int) -> np.ndarray:
        return self.curves(variant, population)[:, evaluations == GRID][:, 0]

    def machines(self) -> str:
        """Name the machines of the runs."""
        made: dict[str, list[str]] = {}
        for run in self.runs:
            if run["variant"] not in made.setdefault(run["machine"], []):
                made[run["machine"]].append(run["variant"])
        told = [machine if len(made) == 1 else f"{'; '.join(of)} on {machine}" for machine, of in made.items()]
        return ". ".join(told)

    def near(self, variant: str) -> int:
        """Count the trials that end near the lowest loss of all trials."""
        return int((self.all_losses(variant) <= NEAR * min(run["loss"] for run in self.runs)).sum())


def lower(a: np.ndarray, b: np.ndarray) -> tuple[bool, str]:
    """Test whether losses of a are lower than those of b (one-sided rank sum)."""
    p = stats.mannwhitneyu(a, b, alternative="less").pvalue
    return p < 0.05, f"{a.mean():,.0f} against {b.mean():,.0f} (p {p:.2g})"


def narrower(a: np.ndarray, b: np.ndarray) -> tuple[bool, str]:
    """Test whether losses of a vary less than those of b (Levene)."""
    p = stats.levene(a, b, center="median").pvalue
    return bool(a.std() < b.std() and p < 0.05), f"sd {a.std():,.0f} against {b.std():,.0f} (p {p:.2g})"


def equal(groups: Sequence[np.ndarray]) -> tuple[bool, str]:
    """Test for no difference between groups of losses (Kruskal and Wallis)."""
    p = stats.kruskal(*groups).pvalue
    return p > 0.05, f"medians {', '.join(f'{np.median(g):,.0f}' for g in groups)} (p {p:.2g})"


def ordered(means: Sequence[float], reverse: bool = False) -> tuple[bool, str]:
    """Return whether means rise or fall from population to population."""
    return list(means) == sorted(means, reverse=reverse), ", ".join(f"{mean:,.0f}" for mean in means)


def by_population(test: Callable[[int], tuple[bool, str]]) -> Found:
    """Return a test at every population."""
    return [(holds, f"{p:,}: {text}") for p in POPULATIONS for holds, text in [test(p)]]


def told(says: str, paper: str, *found: tuple[bool, str]) -> dict[str, str]:
    """Return a claim of section 4."""
    return record.claim("4", says, paper, "; ".join(text for _, text in found), [holds for holds, _ in found])


def against_trad(trials: Trials, new: str) -> list[dict[str, str]]:
    """Check the claims on NEW and TRAD, for one reading of NEW."""
    rows = [
        told(
            f"{new} ends in lower loss than TRAD",
            "more effective solutions in each case",
            *by_population(lambda p: lower(trials.losses(new, p), trials.losses("TRAD", p))),
        ),
        told(
            f"{new} ends in lower loss than TRAD, all populations together",
            "on average more effective",
            lower(trials.all_losses(new), trials.all_losses("TRAD")),
        ),
        told(
            f"{new} varies less from trial to trial than TRAD",
            "TRAD converges to a wider range",
            *by_population(lambda p: narrower(trials.losses(new, p), trials.losses("TRAD", p))),
        ),
    ]
    ours, theirs, n = trials.near(new), trials.near("TRAD"), len(POPULATIONS) * TRIALS
    p = stats.fisher_exact([[ours, n - ours], [theirs, n - theirs]], alternative="greater").pvalue
    text = f"within {NEAR - 1:.1%} of the lowest loss found: {ours} of {n} trials against {theirs} of {n} (p {p:.2g})"
    rows.append(
        told(
            f"{new} ends in the same optimum more often than TRAD, all populations together",
            "nearly the exact same solution each time",
            (p < 0.05, text),
        )
    )
    rows.extend(
        told(
            f"{new} converges faster than TRAD: loss after {n_eval:,} evaluations",
            "faster in each case",
            *by_population(lambda p, n=n_eval: lower(trials.after(n, new, p), trials.after(n, "TRAD", p))),
        )
        for n_eval in EARLY
    )
    return rows


def of_populations(trials: Trials, variant: str) -> list[dict[str, str]]:
    """Check the claims on the size of the population."""
    return [
        told(
            f"{variant}'s final loss does not depend on the population",
            "no relationship",
            equal([trials.losses(variant, p) for p in POPULATIONS]),
        ),
        told(
            f"{variant} converges more slowly with larger populations: loss after {EARLY[0]:,} evaluations grows",
            "convergence time increases",
            ordered([trials.after(EARLY[0], variant, p).mean() for p in POPULATIONS]),
        ),
    ]


def of_duplicates(trials: Trials, new: str) -> list[dict[str, str]]:
    """Check the claims on duplicates, for one reading of NEW."""
    other = f"{new}, duplicates"
    return [
        told(
            f"{new} ends in lower loss without duplicates than with them",
            "more effective (section 5)",
            *by_population(lambda p: lower(trials.losses(new, p), trials.losses(other, p))),
        ),
        told(
            f"{new} converges faster without duplicates: loss after {EARLY[0]:,} evaluations",
            "faster",
            *by_population(lambda p: lower(trials.after(EARLY[0], new, p), trials.after(EARLY[0], other, p))),
        ),
        told(
            f"{new} with duplicates: smaller populations end in greater loss",
            "less effective solutions",
            ordered([trials.losses(other, p).mean() for p in POPULATIONS], reverse=True),
        ),
        told(
            f"{new} with duplicates: smaller populations converge faster, loss after {EARLY[0]:,} evaluations grows",
            "faster",
            ordered([trials.after(EARLY[0], other, p).mean() for p in POPULATIONS]),
        ),
    ]


def claims_of(trials: Trials) -> list[dict[str, str]]:
    """Check all claims of section 4."""
    claims = []
    for new in READINGS:
        claims += against_trad(trials, new)
    for variant in (*READINGS, "TRAD"):
        claims += of_populations(trials, variant)
    for new in READINGS:
        claims += of_duplicates(trials, new)
    return claims
