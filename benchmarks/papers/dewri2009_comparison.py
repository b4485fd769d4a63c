"""Dewri et al. 2009, *On the comparison of microdata disclosure control algorithms*: its numbers, and Adult's fronts.

    python -m benchmarks.papers.dewri2009_comparison

Every number of the paper beside ours, then what the comparators say of the exact fronts of Adult: whether they rank as
k does, where they differ most, and for whom. About a minute; needs Adult.
"""

from functools import partial
from itertools import product

import numpy as np
from matplotlib.patches import Circle, Rectangle
from pymoo.optimize import minimize
from scipy import stats

from benchmarks import record
from benchmarks.papers.dewri2009_tables import GENERALIZATIONS, HIERARCHIES, OTHER_AGES, ROWS, T1, TABLE, WIDER_AGES
from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.comparison import (
    BreachProbability,
    ClassSize,
    Comparator,
    Comparison,
    Coverage,
    Dominance,
    Goal,
    Hypervolume,
    Lexicographic,
    Minimum,
    PropertyVector,
    Rank,
    SensitiveCount,
    Spread,
    TupleUtility,
    Weighted,
    compare,
    distribution,
    gains,
    worst_off,
)
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, SquaredClassSizes, SquaredValueCounts
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.visualization import plot_quantiles, plot_tuples
from pymoo_anon.visualization.fronts import COLOURS, new_figure

SUPPRESSION = 0.01
SINGLE = [Dominance(), Minimum(), Rank(), Coverage(), Spread(), Hypervolume()]
PROPERTIES = [ClassSize(), SensitiveCount("occupation"), TupleUtility()]
SETS = [
    Weighted([0.5, 0.25, 0.25], Coverage()),
    Lexicographic([0.05, 0.05, 0.05], Coverage()),
    Goal([1, 1, 1], Coverage()),
]
RANKING = ["min", "rank", "cov", "spr", "hv"]


def measured(prop, name: str) -> PropertyVector:
    return prop.measure(TABLE.equivalence_classes(GENERALIZATIONS[name]))


def shown(vector: PropertyVector) -> str:
    return ", ".join(f"{value:.3g}" for value in vector.values[ROWS].round(2))


def anonymizations() -> str:
    """Tables 1 to 3: the labels of each tuple, and the size of its class."""
    rows = []
    for number, (row, (code, age, status)) in enumerate(zip(ROWS, T1.itertuples(index=False), strict=True), start=1):
        line = [str(number), f"{code}, {age}, {status}"]
        for name, generalization in GENERALIZATIONS.items():
            labels = []
            for j, column in enumerate(HIERARCHIES):
                labels.append(generalization.labels[column][generalization.groups[column][TABLE.tuples.codes[row, j]]])
            size = measured(ClassSize(), name).values[row]
            line.append(f"{', '.join(map(str, labels))}: {size:.0f}")
        rows.append(line)
    return record.markdown(["tuple", "Table 1", *(f"{name}: class size" for name in GENERALIZATIONS)], rows)


class BetterOff(Comparator):
    """P_binary, the number of tuples better off with the first."""

    name = "better off"

    def index(self, d1, d2) -> float:
        return float((1 - Coverage().index(d2, d1)) * d1.n_rows)


def numbers() -> list[list[str]]:
    """Return every number of the paper beside ours."""
    s, t, four = (measured(ClassSize(), name) for name in GENERALIZATIONS)
    counts = measured(SensitiveCount("marital status"), "T3a")
    u, v = (measured(TupleUtility(), name) for name in ("T3a", "T3b"))
    cov, spr, hv = Coverage(), Spread(), Hypervolume()
    d1, d2 = (2, 2, 3, 4, 5), (3, 2, 4, 2, 3)
    printed = (3, 3, 3, 5, 5, 5, 5, 3, 3, 3, 3, 4, 4, 4, 4)
    mended = (3, 3, 3, 5, 5, 5, 5, 5, 3, 3, 3, 4, 4, 4, 4)
    two = (2, 2, 6, 6, 6, 6, 6, 6, 3, 3, 3, 4, 4, 4, 4)
    a, b = (3, 3, 3, 5, 5, 5, 5, 5), (4,) * 8
    sevenths = [i for i, row in enumerate(ROWS, start=1) if measured(BreachProbability(), "T3b").values[row] == 1 / 7]
    equal = Weighted([0.5, 0.5], cov)

    def both(comparator, one, other) -> str:
        return f"{comparator.index(one, other):.4g} and {comparator.index(other, one):.4g}"

    return [
        ["1", "k of T3a, T3b and T4", "3, 3, 4", ", ".join(f"{Minimum().index(one):.0f}" for one in (s, t, four))],
        ["1", "tuples of T3b with breach probability 1/7", "2, 3, 5, 6, 7, 9, 10", ", ".join(map(str, sevenths))],
        ["2", "tuple 8: T4 or T3b", "T4", "T4" if four.values[ROWS[7]] > t.values[ROWS[7]] else "T3b"],
        ["2", "tuple 3: T4 or T3b", "T3b", "T4" if four.values[ROWS[2]] > t.values[ROWS[2]] else "T3b"],
        ["3", "class sizes of T3a", "3, 3, 3, 3, 4, 4, 4, 3, 3, 4", shown(s)],
        ["3", "class sizes of T3b", "3, 7, 7, 3, 7, 7, 7, 3, 7, 7", shown(t)],
        ["3", "counts of marital status in T3a", "2, 2, 1, 2, 2, 1, 2, 1, 2, 1", shown(counts)],
        ["3", "P_s-avg of T3a", "3.4", f"{s.mean():.4g}"],
        ["3", "P_l-div of T3a", "1", f"{Minimum().index(counts):.0f}"],
        ["3", "P_binary of T3a, T3b, both ways", "0 and 7", both(BetterOff(), s, t)],
        ["5.2", "T4 against T3a, cov", "better", cov.compare(four, s)],
        ["5.2", "T3b against T4, cov", "better", cov.compare(t, four)],
        ["5.3", "P_cov of (2,2,3,4,5), (3,2,4,2,3)", "3/5 and 3/5", both(cov, d1, d2)],
        ["5.3", "the first of these, spr", "better", spr.compare(d1, d2)],
        ["5.3", "P_spr of 15 tuples, as printed", "2 and 8", both(spr, printed, two)],
        ["5.3", "P_spr of 15 tuples, the eighth entry 5", "2 and 8", both(spr, mended, two)],
        ["5.3", "the second of these, cov", "better", cov.compare(two, mended)],
        ["5.4", "P_hv of s and t", "s larger", f"{hv.volume(a, b):,.0f} and {hv.volume(b, a):,.0f}"],
        ["5.5", "utilities of T3a", "2.03, 1.7, 1.7, 2.03, 1.6, 1.6, 1.6, 2.03, 1.7, 1.6", shown(u)],
        ["5.5", "utilities of T3b", "2.03, 0.97, 0.97, 2.03, 0.97, 0.97, 0.97, 2.03, 0.97, 0.97", shown(v)],
        ["5.5", "P_cov of class sizes, T3a and T3b", "0.3 and 1", both(cov, s, t)],
        ["5.5", "P_cov of utilities, T3a and T3b", "1 and 0.3", both(cov, u, v)],
        ["5.5", "T3a against T3b, WTD of equal weights", "equal", equal.compare([s, u], [t, v])],
    ]


def figures() -> None:
    """Draw Figure 1 from the tables, Figures 2 to 4 from vectors of two."""
    names = np.empty(len(ROWS), dtype=int)
    names[ROWS] = np.arange(1, len(ROWS) + 1)
    sizes = {name: measured(ClassSize(), name) for name in GENERALIZATIONS}
    plot_tuples(sizes, record.RESULTS / "dewri2009_comparison_figure1.png", names)

    canvas = new_figure(12, 4)
    rank, spread, volume = canvas.subplots(1, 3)
    d1, d2 = (3.0, 5.0), (7.0, 2.5)
    colours = COLOURS[:2]
    best = (8.0, 7.0)
    rank.scatter(*best, color="black", zorder=3)
    rank.annotate("point of interest", best, (-8, 8), textcoords="offset points", ha="right")
    for vector, colour, name in zip((d1, d2), colours, ("d1", "d2"), strict=True):
        distance = Rank(best).index(vector)
        rank.add_patch(Circle(best, distance, fill=False, color=colour, linestyle="--"))
        rank.scatter(*vector, color=colour, zorder=3)
        rank.annotate(f"{name}: {distance:.2f}", vector, (-8, -14), textcoords="offset points", ha="right")
        volume.add_patch(Rectangle((0, 0), *vector, fill=True, alpha=0.25, color=colour))
        volume.scatter(*vector, color=colour, zorder=3)
        other = d2 if vector is d1 else d1
        alone = Hypervolume().volume(vector, other)
        volume.annotate(f"{name}, alone: {alone:.3g}", vector, (-4, 8), textcoords="offset points", ha="center")
    rank.set_title("Figure 2: rank, the nearer is better")
    volume.set_title("Figure 4: hypervolume, the larger is better")
    for axis in (rank, volume):
        axis.set(xlim=(0, 10), ylim=(0, 9), xlabel="value of tuple 1", ylabel="value of tuple 2", aspect="equal")
    one, other = (2, 2, 3, 4, 5), (3, 2, 4, 2, 3)
    places = np.arange(1, 6)
    for shift, vector, colour, name in ((-0.2, one, colours[0], "d1"), (0.2, other, colours[1], "d2")):
        spread.bar(places + shift, vector, 0.36, color=colour, label=name)
    spread.set(xlabel="tuple", ylabel="value", ylim=(0, 6.5))
    spread.set_title(
        f"Figure 3: cov {Coverage().index(one, other):.1f} and {Coverage().index(other, one):.1f}, "
        f"spr {Spread().index(one, other):.0f} and {Spread().index(other, one):.0f}"
    )
    spread.legend()
    canvas.savefig(record.RESULTS / "dewri2009_comparison_figures2to4.png", dpi=110)


def front(table, objectives) -> dict:
    """Compare the members of the exact front, by ascending k."""
    problem = LatticeProblem(table, objectives, suppression=SUPPRESSION)
    res = minimize(problem, BranchAndBound(), seed=1)
    nodes = problem.to_frame(res)
    generalizations = [problem.decode(x) for x in res.X]
    return {
        "generalizations": generalizations,
        "levels": nodes[list(table.quasi_identifiers)].to_numpy(),
        "k": problem.values_of(res.X, KAnonymity()),
        "GLM": problem.values_of(res.X, GeneralLossMetric()),
        "suppressed": nodes["suppressed"].to_numpy(),
        "comparison": compare(table, generalizations, PROPERTIES, [*SINGLE, *SETS], suppression=SUPPRESSION),
    }


def agreement(name: str, of: dict) -> list[list[str]]:
    """Return the rank correlations of each comparator with k and GLM."""
    found: Comparison = of["comparison"]
    n, higher = len(of["k"]), of["k"][:, None] > of["k"]
    rows = []
    for prop in PROPERTIES[:2]:
        for comparator in RANKING:
            ranks = -found.ranks[prop.label, comparator].to_numpy()
            against = (higher & (found.tournaments[prop.label, comparator].outcomes == -1)).sum()
            tests = (
                stats.kendalltau(ranks, of["k"]),
                stats.spearmanr(ranks, of["k"]),
                stats.kendalltau(ranks, of["GLM"]),
            )
            told = f"{against:,} of {higher.sum():,} ({against / higher.sum():.0%})"
            rows.append([f"{name}: {prop.label}, {comparator}", *(f"{test.statistic:.2f}" for test in tests), told])
        apart = (found.tournaments[prop.label, "dominance"].outcomes == 2).sum()
        pairs = f"incomparable: {apart // 2:,} of {n * (n - 1) // 2:,} ({apart / n / (n - 1):.0%})"
        rows.append([f"{name}: {prop.label}, dominance", "–", "–", "–", pairs])
    return rows


def farthest(of: dict) -> tuple[int, int]:
    """Return the pair with the largest ratio of k that coverage ranks the other way."""
    preferred = of["comparison"].tournaments["class size", "cov"].outcomes
    ratio = np.where(preferred == -1, of["k"][:, None] / of["k"], 0)
    first, second = np.unravel_index(np.argmax(ratio), ratio.shape)
    return int(first), int(second)


def pair_text(table, of: dict, picture: str) -> tuple[str, dict]:
    """Write the greatest difference between k and coverage."""
    pair = first, second = farthest(of)
    found: Comparison = of["comparison"]
    labels = {i: f"k = {of['k'][i]:,.0f}" for i in pair}
    sizes = {labels[i]: found.vectors["class size"][i] for i in pair}
    plot_quantiles(sizes, record.RESULTS / picture)
    columns = np.flatnonzero(of["levels"][first] != of["levels"][second])
    differing = [list(table.quasi_identifiers)[j] for j in columns]
    lengths = [table.quasi_identifiers[name].length for name in differing]
    members, worst = [], []
    for i in pair:
        levels = [f"{level} of {length}" for level, length in zip(of["levels"][i][columns], lengths, strict=True)]
        members.append([labels[i], f"{of['GLM'][i]:,.0f}", f"{of['suppressed'][i]:,}", *levels])
        lowest = worst_off(table, of["generalizations"][i], ClassSize(), suppression=SUPPRESSION)
        for labels_of, row in lowest.iterrows():
            told = [f"{n} {v}" for n, v in zip(lowest.index.names, labels_of, strict=True) if v != "*"]
            worst.append([labels[i], ", ".join(told) or "all suppressed tuples", f"{row['size']:,.0f}"])
    verdicts = []
    for prop, comparator in product(PROPERTIES, RANKING):
        played = found.tournaments[prop.label, comparator]
        both = [f"{played.indices[order]:,.6g}" for order in (pair, pair[::-1])]
        verdicts.append([prop.label, comparator, *both, played.verdicts[second, first]])
    spread = distribution(sizes)
    quantiles = [
        [name, *(f"{value:,.3g}" if column == "Gini" else f"{value:,.0f}" for column, value in row.items())]
        for name, row in spread.iterrows()
    ]
    groups = []
    for column, level in (("sex", 0), ("race", 0), ("age", 2), ("marital-status", 1), ("native-country", 1)):
        own = gains(table, sizes[labels[second]], sizes[labels[first]], column, level)
        for name, row in own.iterrows():
            shares = [f"{row[which] / row['tuples']:.0%}" for which in ("better", "worse")]
            groups.append([f"{column}: {name}", f"{row['tuples']:,.0f}", *shares, f"{row['difference']:+,.0f}"])
    heads = ["property", "comparator", *(f"P of {labels[i]}" for i in pair), "verdict on the latter"]
    share = found.tournaments["class size", "cov"].indices[second, first]
    text = record.words(
        "dewri2009_comparison_pair",
        n=len(of["k"]),
        first=labels[first],
        second=labels[second],
        share=share,
        differing=", ".join(differing),
        members=record.markdown(["member", "GLM", "suppressed", *differing], members),
        verdicts=record.markdown(heads, verdicts),
        quantiles=record.markdown(["member", *spread], quantiles),
        groups=record.markdown(["group", "people", "larger", "smaller", "mean difference"], groups),
        worst=record.markdown(["member", "class", "size"], worst),
        picture=picture,
    )
    return text, {"k": [float(of["k"][i]) for i in pair], "coverage": float(share), "groups": groups}


def speed(table, of: dict) -> list[list[str]]:
    """Time two generalizations under all comparators, and a front under each."""
    two = of["generalizations"][50:52]

    def everything() -> None:
        sets = []
        for one in two:
            classes = table.equivalence_classes(one, suppression=SUPPRESSION)
            sets.append([prop.measure(classes) for prop in PROPERTIES])
        for comparator in SINGLE:
            for d1, d2 in zip(*sets, strict=True):
                comparator.compare(d1, d2)
        for comparator in SETS:
            comparator.compare(*sets)

    def milliseconds(one: Comparator, vectors: list) -> float:
        return 1000 * record.median_seconds(partial(one.tournament, vectors), 3)

    n, vectors = len(of["generalizations"]), of["comparison"].vectors
    of_two = f"{1000 * record.median_seconds(everything, 30):.1f}"
    rows = [["two generalizations: grouping, 6 vectors, 27 comparisons", of_two]]
    for one in SINGLE:
        slowest = max(milliseconds(one, own) for own in vectors.values())
        rows.append([f"{n} members, {one.name}, the slowest property", f"{slowest:.0f}"])
    sets = list(zip(*vectors.values(), strict=True))
    return [
        *rows,
        *([f"{n} members, {one.name} over three properties", f"{milliseconds(one, sets):.0f}"] for one in SETS),
    ]


def main() -> None:
    figures()
    table = fetch_adult()
    by_k = front(table, [KAnonymity(), GeneralLossMetric()])
    by_sums = front(table, [SquaredClassSizes(), SquaredValueCounts("occupation"), GeneralLossMetric()])
    of_paper = numbers()
    compared = [*agreement("k, GLM", by_k), *agreement("S_k, S_l, GLM", by_sums)]
    timed = speed(table, by_sums)
    first, first_figures = pair_text(table, by_k, "dewri2009_comparison_k_GLM.png")
    second, second_figures = pair_text(table, by_sums, "dewri2009_comparison_Sk_Sl_GLM.png")
    record.write(
        "dewri2009_comparison",
        {
            "machine": record.machine(),
            "paper": of_paper,
            "agreement": compared,
            "k, GLM": first_figures,
            "S_k, S_l, GLM": second_figures,
            "milliseconds": timed,
        },
        n_ages=OTHER_AGES.n_values,
        n_wider=WIDER_AGES.n_groups[1],
        n_other=OTHER_AGES.n_groups[1],
        anonymizations=anonymizations(),
        of_paper=record.markdown(["section", "what", "paper", "here"], of_paper),
        n_by_k=len(by_k["k"]),
        least_k=by_k["k"].min(),
        greatest_k=by_k["k"].max(),
        n_by_sums=len(by_sums["k"]),
        n_alone=(by_sums["k"] == 1).sum(),
        compared=record.markdown(
            ["front and comparator", "tau with k", "rho with k", "tau with GLM", "against k"], compared
        ),
        first=first,
        second=second,
        n_distinct=table.n_distinct,
        timed=record.markdown(["what", "ms"], timed),
    )


if __name__ == "__main__":
    main()
