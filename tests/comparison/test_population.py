"""Risks of persons against published figures and exact twins: inference, population uniques and unique rows."""

from collections import Counter
from decimal import Decimal
from itertools import combinations
from math import comb, exp, factorial, lgamma, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad

from benchmarks.papers.arx_optima import NINE
from pymoo_anon.comparison import *
from pymoo_anon.comparison import compare_sizes, individual_risk, inference, uniques
from pymoo_anon.comparison.uniques import SMALL_CLASSES, special_uniques, uniqueness
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.arguments import short_name
from pymoo_anon.publishing import release
from pymoo_anon.study.tables import Roles, constraint
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata
from pymoo_anon.table.frames import keyed
from pymoo_anon.testing import check_objective


def risk_of(size, population):
    """Return the risk of a class with a size and a population."""
    frame = pd.DataFrame({"zip": ["a"] * size, "w": [population / size] * size})
    (risk,) = individual_risk(frame, ["zip"], "w")["risk"]
    return risk


# sdcMicro's own tests, and reports of its users.
@pytest.mark.parametrize(
    ("size", "population", "risk"),
    [
        (3, 108, 0.01355297),
        (1, 45.5, 0.08579129),
        (1, 17, 0.17707583),
        (2, 100, 0.01877883),
        (1, 123.5, 0.03931625),
        (2, 360, 0.00542452),
        (1, 215, 0.02509644),
        (2, 152, 0.01256342),
        (1, 186, 0.02824728),
    ],
)
def test_what_sdcmicro_publishes(size, population, risk):
    assert risk_of(size, population) == pytest.approx(risk, abs=6e-9)


def test_closed_forms():
    for p in (0.001, 0.1, 0.4, 0.6, 0.99):
        q = 1 - p
        assert risk_of(1, 1 / p) == pytest.approx(p / q * log(1 / p), rel=1e-12)
        assert risk_of(2, 2 / p) == pytest.approx(p / q - (p / q) ** 2 * log(1 / p), rel=1e-11)
    # If all persons are in the sample, the risk is 1 / size, and nothing is subtracted from p.
    assert [risk_of(size, size) for size in (1, 2, 7, 60)] == [1, 1 / 2, 1 / 7, 1 / 60]


@given(size=st.integers(1, 120), fold=st.floats(1, 1000))
def test_the_risk_is_the_integral(size, fold):
    p = size / (fold * size)
    near, _ = quad(lambda s: s ** (size - 1) / (p + (1 - p) * s), 0, 1, epsabs=0, epsrel=1e-11, limit=500, points=[p])
    assert risk_of(size, fold * size) == pytest.approx(p * near, rel=1e-9)


def test_classes_and_weights_of_a_release():
    ages = ["20–29", "20–29", "*", "30–39", "20–29"]
    frame = pd.DataFrame({"age": ages, "sex": [*"FF*MM"], "w": [40.0, 60.0, 5.0, 17.0, 45.5]})
    found = individual_risk(frame, ["age", "sex"], "w")
    assert list(found.columns) == ["size", "population", "risk"]
    assert found.index.names == ["age", "sex"]
    assert found["size"].to_dict() == {("*", "*"): 1, ("30–39", "M"): 1, ("20–29", "M"): 1, ("20–29", "F"): 2}
    assert found["population"].tolist() == [5, 17, 45.5, 100]
    assert found["risk"].is_monotonic_decreasing
    assert found.loc[("20–29", "F"), "risk"] == pytest.approx(0.01877883, abs=5e-9)
    # Equal weights in one class belong to rows of their own. The order of rows does not count.
    twice = pd.concat([frame, frame]).sample(frac=1, random_state=1)
    again = individual_risk(twice, ["age", "sex"], "w")
    assert again["size"].tolist() == (2 * found["size"]).loc[again.index].tolist()
    assert again["population"].tolist() == (2 * found["population"]).loc[again.index].tolist()
    assert (again["risk"] < found["risk"].loc[again.index]).all()


CASES = [(5, 0.01), (5, 0.1), (12, 0.01), (12, 0.1), (12, 0.25), (20, 0.01), (20, 0.1), (20, 0.25)]


def chance(rows, mean):
    """Sum the Poisson probabilities of up to so many rows."""
    return sum(exp(-mean) * mean**j / factorial(j) for j in range(rows + 1))


def test_k_of_a_k_map_by_estimate():
    assert [k_for_k_map(*case) for case in CASES] == [3, 4, 3, 6, 9, 3, 7, 12]
    for k, share in CASES:
        rows, mean = k_for_k_map(k, share) - 1, k * share
        seen = [(chance(one, mean) - chance(0, mean)) / (1 - chance(0, mean)) for one in (rows - 1, rows)]
        assert seen[0] < 0.99 <= seen[1]
    assert (KAnonymity() >= k_for_k_map(12, Decimal("0.1"))).bound == 6


@given(k=st.integers(1, 2000), share=st.floats(0.001, 1))
def test_k_of_the_table_is_at_most_that_of_the_population(k, share):
    found = k_for_k_map(k, share)
    assert 1 <= found <= k
    assert k_for_k_map(k, share, 0.001) >= found
    assert k_for_k_map(k, 1) == k


@given(st.lists(st.tuples(*map(st.sampled_from, ["ab", "xy", ["flu", "cold", "hiv", None]])), min_size=1))
def test_inference_is_what_the_rows_say(rows):
    found = inference(pd.DataFrame(rows, columns=["q", "r", "ill"], dtype=object), ["q", "r"], "ill")
    everybody = Counter(ill for *_, ill in rows)
    classes = {}
    for q, r, ill in rows:
        classes.setdefault((q, r), Counter())[ill] += 1
    assert set(found.index) == set(classes)
    assert len(found) == len(classes)
    assert found["share"].is_monotonic_decreasing
    for key, own in classes.items():
        one, size = found.loc[key], sum(own.values())
        likeliest = None if pd.isna(one["likeliest"]) else one["likeliest"]
        assert own[likeliest] == max(own.values())
        assert one["size"] == size
        assert one["share"] == pytest.approx(own[likeliest] / size)
        assert one["overall"] == pytest.approx(everybody[likeliest] / len(rows))
        apart = sum(abs(own[ill] / size - n / len(rows)) for ill, n in everybody.items()) / 2
        assert one["distance"] == pytest.approx(apart)


def test_the_worst_off_come_first():
    rows = [("1*", "flu")] * 3 + [("2*", "hiv")] * 2 + [("3*", "flu"), ("3*", "cold"), ("*", "flu")]
    found = inference(pd.DataFrame(rows, columns=["zip", "ill"]), ["zip"], "ill")
    assert [zip_code for (zip_code,) in found.index] == ["2*", "*", "1*", "3*"]
    assert found.index.names == ["zip"]
    assert found.loc[found["share"] == 1, "size"].sum() == 6
    assert found["likeliest"].tolist() == ["hiv", "flu", "flu", "cold"]
    assert found["distance"].tolist() == [6 / 8, 3 / 8, 3 / 8, 3 / 8]


# How many classes of each size the 30,162 complete rows of Adult have, with these columns as quasi-identifiers.
ADULT = {
    **{1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18, 13: 23, 14: 14},
    **{15: 15, 16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1, 26: 3, 27: 5, 29: 1, 30: 2},
    **{32: 1, 34: 1, 35: 1, 36: 1, 45: 1},
}
# Pitman's theta and alpha of these classes.
THETA, ALPHA = 3176.2335179030, 0.7179489482476
TOY = {1: 40, 2: 12, 3: 6, 5: 3, 8: 1}


def sizes(counts):
    return np.repeat(list(counts), list(counts.values()))


def estimated(counts, n_population):
    return population_uniques(sizes(counts), n_population).estimates


def exact_zayatz(counts, n_population):
    """Compute Zayatz in whole numbers, as the hypergeometric chances read."""
    if 1 not in counts:
        return 0
    n = sum(j * f for j, f in counts.items())
    chance = {j: j * comb(n_population - j, n - 1) for j in counts}
    unique_there = counts[1] * chance[1] / sum(f * chance[j] for j, f in counts.items())
    return counts[1] * unique_there * n_population / n


def expected_uniques(n_population):
    """Compute Pitman's expected uniques with Adult's parameters, person by person."""
    i = np.arange(n_population - 1.0)
    return n_population * np.exp((np.log(THETA + ALPHA + i) - np.log(THETA + 1 + i)).sum())


def seen(n_classes, alpha, beta, share, times):
    """Sum classes of 1 + NB(alpha, beta) persons sampled so many times."""
    size = np.arange(1, 5000)
    steps = np.concatenate([[0], np.cumsum(np.log((alpha + size[:-1] - 1) / size[:-1] * (1 - beta)))])
    of_size = beta**alpha * np.exp(steps)
    chances = np.array([comb(int(j), times) * share**times * (1 - share) ** int(max(j - times, 0)) for j in size])
    return n_classes * (of_size * chances).sum()


def test_the_classes_of_adult_are_these(adult_rows):
    found = adult_rows.groupby(list(NINE), observed=True).size().value_counts()
    assert found.to_dict() == ADULT


@pytest.mark.parametrize(
    ("n_population", "zayatz", "pitman", "slide"),
    [
        (150_810, 0.35770992341, 0.33465530315, 0.31945937832),
        (301_620, 0.32074023959, 0.27603332040, 0.24997693658),
        (3_016_200, 0.27171272114, 0.14456544024, 0.20467901823),
    ],
)
def test_adult_as_a_sample(n_population, zayatz, pitman, slide):
    found = estimated(ADULT, n_population)
    assert list(found) == ["Zayatz", "Pitman", "slide negative binomial"]
    assert np.array(list(found.values())) / n_population == pytest.approx([zayatz, pitman, slide], rel=1e-7)


def test_what_arx_expects_and_where_it_differs():
    """Compare with ARX, which takes Pitman's limit."""
    for n_population, expected in ((301_620, 0.27684993883653597), (3_016_200, 0.1446083531167384)):
        limit = n_population**ALPHA * np.exp(lgamma(THETA + 1) - lgamma(THETA + ALPHA))
        assert limit / n_population == pytest.approx(expected, rel=1e-9)
        # The expectation itself is below its limit.
        assert estimated(ADULT, n_population)["Pitman"] == pytest.approx(expected_uniques(n_population), rel=1e-9)
        assert estimated(ADULT, n_population)["Pitman"] < limit


def test_the_slide_model_is_divided_by_and_its_bracket_is_closed():
    """Contrast ARX, which multiplies by the last power, and so expects few classes of two."""
    n_classes, alpha, beta, share = 216.71455521, 0.21376647, 0.04451197, 0.105
    assert seen(n_classes, alpha, beta, share, 1) == pytest.approx(TOY[1], rel=1e-6)
    assert seen(n_classes, alpha, beta, share, 2) == pytest.approx(TOY[2], rel=1e-6)
    assert estimated(TOY, 1000)["slide negative binomial"] == pytest.approx(n_classes * beta**alpha, rel=1e-6)


def test_without_an_estimate_there_is_none_and_a_reason():
    found = population_uniques(sizes({1: 2, 2: 50, 3: 20, 4: 10}), 1000)
    assert found.estimates["Zayatz"] == found.range[0] == found.range[1] == pytest.approx(0.14091185, rel=1e-6)
    assert found.estimates["Pitman"] is found.estimates["slide negative binomial"] is None
    assert found.missing == {
        "Pitman": "as the likelihood of the class sizes has no greatest value with 0 < alpha < 1",
        "slide negative binomial": "as no negative binomial sizes give as many classes of one and of two rows",
    }
    found = population_uniques(np.ones(100, dtype=int), 1000)
    assert found.estimates == {"Zayatz": pytest.approx(1000), "Pitman": None, "slide negative binomial": None}
    assert str(found).splitlines()[-2:] == [
        "Pitman: no estimate, as all rows are unique in the table",
        "slide negative binomial: no estimate, as no class has two rows",
    ]
    found = population_uniques([2] * 50, 1000)
    assert found.estimates == {"Zayatz": 0, "Pitman": None, "slide negative binomial": None}
    assert found.missing["Pitman"] == "as no row is unique in the table"
    assert population_uniques([5, 1], 7).missing["slide negative binomial"] == "as no class has two rows"
    assert population_uniques([5], 7).range == (0, 0)
    # A guess of the parameters at which a sum of chances rounds to 0.
    assert population_uniques([1, 2, 2], 500).estimates["slide negative binomial"] == pytest.approx(0, abs=1)
    assert PopulationUniques(9, {"Pitman": None}, {"Pitman": "as"}).range is None
    assert str(PopulationUniques(9, {"Pitman": None}, {"Pitman": "as"})).startswith("No estimate of how many of 9 ")


def test_a_whole_population_needs_no_estimate():
    assert population_uniques(sizes(TOY), 105) == PopulationUniques(105, {"the table itself": 40})


@given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.integers(1, 400))
def test_zayatz_is_what_whole_numbers_say(drawn, more):
    n_population = sum(drawn) + more
    counts = {size: drawn.count(size) for size in sorted(set(drawn))}
    found = population_uniques(drawn, n_population)
    assert found.estimates["Zayatz"] == pytest.approx(exact_zayatz(counts, n_population), rel=1e-9)
    low, high = found.range
    assert 0 <= low <= found.estimates["Zayatz"] <= high <= n_population * (1 + 1e-9)
    assert {name for name, value in found.estimates.items() if value is None} == set(found.missing)


def test_large_populations_lose_no_digits():
    assert estimated(ADULT, 3_000_000_000)["Zayatz"] / 3e9 == pytest.approx(0.2645012061228713, rel=1e-12)
    # As N grows, the expectation goes to its limit.
    limit = 3e9**ALPHA * np.exp(lgamma(THETA + 1) - lgamma(THETA + ALPHA))
    assert estimated(ADULT, 3_000_000_000)["Pitman"] == pytest.approx(limit, rel=1e-6)
    # A class of a million rows is surely none of one person.
    assert population_uniques([1, 1, 10**6], 10**7).estimates["Zayatz"] == pytest.approx(2 * 10**7 / (10**6 + 2))


def test_the_kept_classes_of_a_release_count():
    problem = LatticeProblem(make_census(300), [KAnonymity()], suppression=Below(2))
    classes = problem.equivalence_classes([1] * problem.n_var)
    assert classes.n_suppressed[0] > 0
    found = population_uniques(classes, 10_000)
    assert found == population_uniques(classes.sizes[classes.kept], 10_000)
    assert found != population_uniques(classes.sizes, 10_000)


ROWS = pd.DataFrame({"zip": [f"{n:02}" for n in [*range(40), *[n for n in range(40, 60) for _ in range(1 + n % 3)]]]})
ZIPS = [f"{n:02}" for n in range(60)]
WAYS = {"zip": Hierarchy([ZIPS, [one[0] + "*" for one in ZIPS], ["*"] * 60])}
LIMIT = PopulationUniqueness(1000) <= 0.05


def test_the_limit_is_the_upper_end_of_the_range():
    problem = LatticeProblem(Microdata.from_frame(ROWS, WAYS), [PopulationUniqueness(1000)], AtMost(50))
    found = population_uniques(problem.equivalence_classes([0]), 1000).range
    assert problem.compute(np.array([[0]])).tolist() == [[found[1] / 1000]]
    # Only unique rows tell nothing, and nothing is left where all are suppressed.
    alone = Microdata.from_frame(ROWS[:40], WAYS)
    assert LatticeProblem(alone, [PopulationUniqueness(1000)]).compute(np.array([[0]])).tolist() == [[1]]
    assert LatticeProblem(alone, [PopulationUniqueness(1000)], Below(2)).compute(np.array([[0]])).tolist() == [[0]]
    assert LatticeProblem(alone, [PopulationUniqueness(40)]).compute(np.array([[0]])).tolist() == [[1]]


def test_a_release_beyond_the_limit_is_refused():
    problem = LatticeProblem(Microdata.from_frame(ROWS, WAYS), [GeneralLossMetric()], constraints=[LIMIT])
    with pytest.raises(ValueError, match=r"population uniqueness is 0\.\d+ where at most 0\.05 is required; anyway="):
        release(ROWS, problem, [0])
    made = release(ROWS, problem, [0], anyway="it is only a test")
    assert "population uniqueness is 0." in made.verdict
    claims = release(ROWS, problem, [1]).claims.set_index("measure")
    assert claims.loc["population uniqueness"].tolist() == [0, 0, True]


@pytest.mark.slow
def test_the_measure_keeps_the_contract():
    check_objective(PopulationUniqueness(10_000))


def test_the_command_line_says_the_persons():
    (own,) = [constraint(text, Roles([])) for text in ["population-uniqueness:1000<=0.05"]]
    assert (own, short_name(own.objective)) == (LIMIT, "population-uniqueness:1000")


NAMES = ["a", "b", "c", "d"]


def minimal_sets(rows, i, most):
    """List the minimal unique sets of a row."""
    found = []
    for size in range(1, most + 1):
        for own in combinations(range(len(rows[0])), size):
            key = [rows[i][j] for j in own]
            if sum([row[j] for j in own] == key for row in rows) == 1 and not any({*part} < {*own} for part in found):
                found.append(own)
    return found


def plain(rows, names, most):
    """Count all by dictionaries of tuples."""

    def sizes(places):
        keys = [tuple(row[j] for j in places) for row in rows]
        counts = Counter(keys)
        return [counts[key] for key in keys]

    every = range(len(names))
    named = [own for size in (1, 2, len(names)) if size <= len(names) for own in combinations(every, size)]
    sets = {
        tuple(names[j] for j in own): [sum(n < least for n in sizes(own)) for least in SMALL_CLASSES] for own in named
    }
    minimal = [minimal_sets(rows, i, most) for i in range(len(rows))]
    counts = Counter(tuple(names[j] for j in own) for found in minimal for own in found)
    with_minimal = {
        size: sum(any(len(own) == size for own in found) for found in minimal) for size in range(1, most + 1)
    }
    n_alone = sizes(every).count(1)
    added = {names[j]: n_alone - sizes([i for i in every if i != j]).count(1) for j in every}
    return sets, dict(counts), with_minimal, added


def counted(frame, names):
    found = uniqueness(frame, names)
    sets = {row[0]: [*row[1:]] for row in found.sets.itertuples(index=False, name=None)}
    assert all([*found.below(own).values()] == n for own, n in sets.items())
    rows = found.minimal["rows"].tolist()
    assert rows == sorted(rows, reverse=True)
    minimal = dict(zip(found.minimal["columns"], rows, strict=True))
    return sets, minimal, found.with_minimal, found.added.to_dict()


@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 5), st.integers(0, 10**6))
def test_all_is_counted_as_by_plain_python(n_columns, n_rows, n_values, seed):
    rows = np.random.default_rng(seed).integers(0, n_values, (n_rows, n_columns))
    names = NAMES[:n_columns]
    frame = pd.DataFrame(rows, columns=names).astype(str).replace({"0": None})
    assert counted(frame, names) == plain(rows.tolist(), names, min(n_columns, 3))


@pytest.mark.parametrize("slots", [0, 8])
def test_large_domains_are_sorted(monkeypatch, slots):
    monkeypatch.setattr(uniques, "SLOTS_OF_A_ROW", slots)
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, n, 60) for n in (50, 3, 2, 40)])
    for factor in (1, 2**20):
        frame = pd.DataFrame(rows * factor, columns=NAMES)
        assert counted(frame, NAMES) == plain(rows.tolist(), NAMES, 3)


def test_keys_that_outgrow_64_bits_are_numbered_anew(monkeypatch):
    rows = np.arange(40)[:, np.newaxis] // np.array([1, 2, 3, 4])
    wide = [np.unique(own, return_inverse=True)[1] * 2**28 for own in rows.T]
    monkeypatch.setattr(uniques, "_coded", lambda *_: wide)
    found = uniqueness(None, NAMES)
    assert found.added.to_dict() == plain(rows.tolist(), NAMES, 3)[3]
    assert found.with_minimal == plain(rows.tolist(), NAMES, 3)[2]
    # Numbers of rows may be as large as their products. Four times 2^62 is nothing in 64 bits.
    small, large = np.arange(8), np.array([2**62 - 2, *[0] * 7])
    assert len(np.unique(keyed([small, large]))) == 8


def test_sets_that_would_take_too_long_are_left_out(monkeypatch):
    frame = pd.DataFrame(np.arange(40).reshape(10, 4) % 3, columns=NAMES)
    for most, largest in ((2000 * 4, 3), (2000 * 4 - 1, 1), (2000 * 6, 3)):
        monkeypatch.setattr(uniques, "_MOST_READ", most)
        assert uniqueness(frame, NAMES).largest == largest
        assert uniqueness(frame, NAMES).below(tuple(NAMES))


def test_scores_and_risks_are_those_of_the_published_example():
    """Statistical Disclosure Control for Microdata: A Practice Guide (World Bank 2019), table on SUDA."""
    rows = """Urban Female Secondary-incomplete Employed
Urban Female Secondary-incomplete Employed
Urban Female Primary-incomplete Non-LF
Urban Male Secondary-complete Employed
Rural Female Secondary-complete Unemployed
Urban Male Secondary-complete Employed
Urban Female Primary-complete Non-LF
Urban Male Post-secondary Unemployed
Urban Female Secondary-incomplete Non-LF
Urban Female Secondary-incomplete Non-LF"""
    frame = pd.DataFrame([row.split() for row in rows.splitlines()], columns=NAMES)
    found = special_uniques(frame, NAMES, fraction=Decimal("0.01"))
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert found.risks.round(4).tolist() == [0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0]


# Single rows, pairs and three equal rows.
@example(3, 20, 3, 0)
@given(st.integers(1, 5), st.integers(1, 20), st.integers(1, 4), st.integers(0, 10**6))
def test_scores_are_sums_over_minimal_sets(n_columns, n_rows, n_values, seed):
    rows = np.random.default_rng(seed).integers(0, n_values, (n_rows, n_columns)).tolist()
    names = list("abcde"[:n_columns])
    found = special_uniques(pd.DataFrame(rows, columns=names), names, fraction=0.1)
    most = min(n_columns, 3)
    by_row = [minimal_sets(rows, i, most) for i in range(n_rows)]

    def score(own):
        return np.prod([n_columns - size for size in range(len(own), min(most, n_columns - 1) + 1)])

    scores = [sum(map(score, sets)) for sets in by_row]
    assert found.scores.tolist() == scores
    shares = {
        name: sum(score(own) for sets in by_row for own in sets if j in own) / max(sum(scores), 1)
        for j, name in enumerate(names)
    }
    assert found.contribution.to_dict() == pytest.approx(shares)
    assert ((found.risks > 0) <= (found.scores > 0)).all()
    assert (found.risks <= 1).all()
    # The wrong matches that are expected of the rows sum up to those of pairs.
    pairs, some = sum(rows.count(row) == 2 for row in rows), found.risks[found.risks > 0]
    assert (1 / some - 1).sum() == pytest.approx(pairs * (1 - 0.1) / 0.1 * (len(some) > 0))


def test_the_worst_sets_are_said_in_a_table():
    found = uniqueness(pd.DataFrame({"zip": [1, 1, 2, 2], "sex": ["F", "M", "M", "M"]}), ["zip", "sex"])
    assert found.table(1) == [
        ["rows", "unique", "", "in classes below 5", "in classes below 12"],
        ["by all", "2", "50.0 %", "4", "4"],
        ["by sex", "1", "25.0 %", "4", "4"],
    ]
    assert found.fewer == ["sex (2)", "zip (1)"]


def test_a_single_name_is_that_of_a_column():
    frame = pd.DataFrame({"zip": [1, 1, 2], "ill": list("abb"), "weight": [2.0, 3.0, 4.0]})
    assert uniqueness(frame, "zip").columns == ("zip",)
    assert uniqueness(pd.DataFrame({"sign": pd.Series([0.0, -0.0], dtype=object)}), "sign").with_minimal == {1: 0}
    assert special_uniques(frame, "zip").scores.tolist() == [0, 0, 1]
    # 2 ** 1100 is beyond the floats, and pairs of so many columns are too many to count.
    wide = pd.DataFrame(np.eye(1000, 1100, dtype=int))
    assert special_uniques(wide, list(wide)).risks.tolist() == [1] * 1000
    for found in (inference(frame, "zip", "ill"), individual_risk(frame, "zip", "weight")):
        assert found["size"].to_dict() == {(1,): 2, (2,): 1}
    assert compare_sizes({"a": frame}, "zip").equals(compare_sizes({"a": frame}, ["zip"]))
