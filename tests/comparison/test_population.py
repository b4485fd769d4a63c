"""Estimates of population uniques: published figures, exact twins, missing estimates."""

from math import comb, lgamma

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.arx_optima import NINE
from pymoo_anon.comparison import PopulationUniqueness, PopulationUniques, population_uniques
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.arguments import short_name
from pymoo_anon.publishing import RecountError, release
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.study.tables import Roles, constraint
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata
from pymoo_anon.testing import check_objective

# How many classes of each size the 30,162 complete rows of Adult have, with these columns as quasi-identifiers.
ADULT = {
    **{1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18, 13: 23, 14: 14},
    **{15: 15, 16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1, 26: 3, 27: 5, 29: 1, 30: 2},
    **{32: 1, 34: 1, 35: 1, 36: 1, 45: 1},
}
N_ADULT = 30162
# Pitman's theta and alpha of these classes.
THETA, ALPHA = 3176.2335179030, 0.7179489482476
TOY = {1: 40, 2: 12, 3: 6, 5: 3, 8: 1}


def sizes(counts):
    return np.repeat(list(counts), list(counts.values()))


def uniques(counts, n_population):
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
    assert (len(adult_rows), found.sum()) == (N_ADULT, 19502)


@pytest.mark.parametrize(
    ("n_population", "zayatz", "pitman", "slide"),
    [
        (150_810, 0.35770992341, 0.33465530315, 0.31945937832),
        (301_620, 0.32074023959, 0.27603332040, 0.24997693658),
        (3_016_200, 0.27171272114, 0.14456544024, 0.20467901823),
    ],
)
def test_adult_as_a_sample(n_population, zayatz, pitman, slide):
    found = uniques(ADULT, n_population)
    assert list(found) == ["Zayatz", "Pitman", "slide negative binomial"]
    assert np.array(list(found.values())) / n_population == pytest.approx([zayatz, pitman, slide], rel=1e-7)


def test_what_arx_expects_and_where_it_differs():
    """Compare with ARX, which takes Pitman's limit and falls back to Zayatz."""
    found = uniques(ADULT, 150_810)
    assert found["Zayatz"] / 150_810 == pytest.approx(0.3577099234829125, rel=1e-12)
    # The model fits Adult, at less than Zayatz: the smaller of both would be taken.
    assert found["slide negative binomial"] < found["Zayatz"]
    found = uniques(ADULT, 301_620)
    assert found["Zayatz"] / 301_620 == pytest.approx(0.3207402393466189, rel=1e-12)
    for n_population, expected in ((301_620, 0.27684993883653597), (3_016_200, 0.1446083531167384)):
        limit = n_population**ALPHA * np.exp(lgamma(THETA + 1) - lgamma(THETA + ALPHA))
        assert limit / n_population == pytest.approx(expected, rel=1e-9)
        # The expectation itself is below its limit.
        assert uniques(ADULT, n_population)["Pitman"] == pytest.approx(expected_uniques(n_population), rel=1e-9)
        assert uniques(ADULT, n_population)["Pitman"] < limit


def test_a_small_table():
    found = population_uniques(sizes(TOY), 1000)
    assert list(found.estimates.values()) == pytest.approx([170.63857807, 65.47979, 111.42374], rel=1e-7)
    assert found.range == pytest.approx((65.47979, 170.63857807), rel=1e-7)
    assert found.missing == {}


def test_the_slide_model_is_divided_by_and_its_bracket_is_closed():
    """Contrast ARX, which multiplies by the last power of 1 - d. It expects few classes of two, and its K differs."""
    n_classes, alpha, beta, share = 216.71455521, 0.21376647, 0.04451197, 0.105
    assert seen(n_classes, alpha, beta, share, 1) == pytest.approx(TOY[1], rel=1e-6)
    assert seen(n_classes, alpha, beta, share, 2) == pytest.approx(TOY[2], rel=1e-6)
    assert uniques(TOY, 1000)["slide negative binomial"] == pytest.approx(n_classes * beta**alpha, rel=1e-6)
    d = (1 - share) * (1 - beta)
    multiplied = n_classes * alpha * beta**alpha * share**2 * (1 - beta) / 2 * (2 - (1 - alpha) * d)
    assert multiplied / (1 - d) ** (alpha + 2) == pytest.approx(TOY[2], rel=1e-6)
    assert multiplied * (1 - d) ** (alpha + 2) < 0.05
    j, f, q = np.array(list(TOY)), np.array(list(TOY.values())), 1 - share
    closed, second = (q**j * ((1 + share) ** j - 1)) @ f, (q**j @ f) / (j * share * q ** (j - 1) @ f)
    open_ended = (q**j * f * (1 + share) ** j - 1).sum()
    first = j * share**2 * (1 - share**2) ** (j - 1) @ f
    assert f.sum() + TOY[1] * first / closed * second**2 == pytest.approx(n_classes, rel=1e-9)
    assert f.sum() + TOY[1] * first / open_ended * second**2 < 0.5 * n_classes


def test_merging_classes_can_raise_an_estimate():
    apart, merged = uniques({1: 10, 2: 2}, 140)["Zayatz"], uniques({1: 10, 4: 1}, 140)["Zayatz"]
    assert (apart, merged) == pytest.approx((73.389652, 77.085089), rel=1e-7)
    assert merged > apart


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
    assert uniques(ADULT, 3_000_000_000)["Zayatz"] / 3e9 == pytest.approx(0.2645012061228713, rel=1e-12)
    # As N grows, the expectation goes to its limit.
    limit = 3e9**ALPHA * np.exp(lgamma(THETA + 1) - lgamma(THETA + ALPHA))
    assert uniques(ADULT, 3_000_000_000)["Pitman"] == pytest.approx(limit, rel=1e-6)
    # A class of a million rows is surely none of one person.
    assert population_uniques([1, 1, 10**6], 10**7).estimates["Zayatz"] == pytest.approx(2 * 10**7 / (10**6 + 2))


def test_the_kept_classes_of_a_release_count():
    problem = LatticeProblem(make_census(300), [KAnonymity()], suppression=Below(2))
    classes = problem.equivalence_classes([1] * problem.n_var)
    assert classes.n_suppressed[0] > 0
    found = population_uniques(classes, 10_000)
    assert found == population_uniques(classes.sizes[classes.kept], 10_000)
    assert found != population_uniques(classes.sizes, 10_000)
    tuples = problem.table.tuples
    maps, n_groups = problem.group_maps(np.ones((2, problem.n_var), dtype=np.int64))
    (both,) = problem.table.grouper.classes(maps, n_groups)
    assert (len(both), tuples.n_rows) == (2, 300)
    with pytest.raises(ValueError, match=r"^classes must be of one generalization, got 2; take classes\[i\]"):
        population_uniques(both, 10_000)


@pytest.mark.parametrize(
    ("given_sizes", "n_population", "error", "sentence"),
    [
        ([1, 2], 2, ValueError, "n_population must be at least the 3 rows that were drawn from it, got 2"),
        ([1, 2], 2.5, TypeError, "n_population must be a whole number of persons, got 2.5"),
        ([], 9, ValueError, r"classes must hold the size of at least one class, got an array of shape \(0,\)"),
        ([1, 0, -2], 9, ValueError, "classes must hold sizes, which are whole numbers from 1 on, got 0, -2"),
        ([1.5, 2], 9, ValueError, "classes must hold sizes, which are whole numbers from 1 on, got 1.5, 2.0"),
    ],
)
def test_what_is_refused(given_sizes, n_population, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        population_uniques(given_sizes, n_population)


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


def test_a_release_is_counted_again():
    problem = LatticeProblem(Microdata.from_frame(ROWS, WAYS), [GeneralLossMetric()], constraints=[LIMIT])
    made = recode(ROWS, problem, [1], Asked())
    wrong = made.frame.assign(zip=made.frame.zip.where(made.frame.index > 0, "00"))
    with pytest.raises(RecountError):
        made.counted_again(wrong)


@pytest.mark.slow
def test_the_measure_keeps_the_contract():
    check_objective(PopulationUniqueness(10_000))


def test_the_command_line_says_the_persons():
    (own,) = [constraint(text, Roles([])) for text in ["population-uniqueness:1000<=0.05"]]
    assert (own, short_name(own.objective)) == (LIMIT, "population-uniqueness:1000")
    for text, words in [("", "needs a number, population-uniqueness:NUMBER"), (":few", "must be a number, got 'few'")]:
        with pytest.raises(ValueError, match=words):
            constraint(f"population-uniqueness{text}<=0.05", Roles([]))


def test_a_limit_needs_persons():
    person = Microdata.from_frame(ROWS.assign(who=1), WAYS, person="who")
    with pytest.raises(ValueError, match=r"^PopulationUniqueness\(1000\) needs one row a person, got the person"):
        LatticeProblem(person, [GeneralLossMetric()], constraints=[LIMIT])
    with pytest.raises(ValueError, match=r"^n_population must be at least the \d+ rows, got 7$"):
        LatticeProblem(Microdata.from_frame(ROWS, WAYS), [PopulationUniqueness(7)])
    with pytest.raises(TypeError, match=r"^n_population must be a whole number of persons, got 2.5$"):
        PopulationUniqueness(2.5)
