"""Individual risk by sampling weights, and k-map without a register.

They are compared with published figures and integrals.
"""

from math import comb, exp, factorial, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from pymoo_anon.comparison import individual_risk, k_for_k_map
from pymoo_anon.objectives import KAnonymity


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


def test_from_three_rows_on_sdcmicro_takes_an_approximation_and_this_does_not():
    p = 3 / 108
    assert p / (3 - (1 - p)) == pytest.approx(0.01369863, abs=5e-9)
    assert risk_of(3, 108) == pytest.approx(0.01355297, abs=5e-9)


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


@pytest.mark.parametrize(("size", "p"), [(1, 0.3), (4, 0.2), (4, 0.7), (60, 0.5)])
def test_the_risk_is_the_mean_over_negative_binomial_persons(size, p):
    more = range(800)
    mean = sum(comb(size + j - 1, j) * p**size * (1 - p) ** j / (size + j) for j in more)
    assert risk_of(size, size / p) == pytest.approx(mean, rel=1e-9)


def test_classes_and_weights_of_a_release():
    frame = pd.DataFrame(
        {
            "age": ["20–29", "20–29", "*", "30–39", "20–29"],
            "sex": ["F", "F", "*", "M", "M"],
            "w": [40.0, 60.0, 5.0, 17.0, 45.5],
        }
    )
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


@pytest.mark.parametrize("wrong", [0.5, np.nan, "a", np.inf, -3.0])
def test_weights_that_are_none_are_refused(wrong):
    frame = pd.DataFrame({"age": ["a", "b"], "w": pd.Series([2.0, wrong], dtype=object)})
    with pytest.raises(ValueError, match=r"^column 'w' must hold weights, which are numbers from 1 on, got "):
        individual_risk(frame, ["age"], "w")


def test_other_arguments_that_are_refused():
    frame = pd.DataFrame({"age": ["a", "b"], "w": [2.0, 3.0]})
    for names in ([], ["age", "w"]):
        with pytest.raises(
            ValueError, match=r"^quasi_identifiers must name columns other than the weights, got (none|.age., .w.)$"
        ):
            individual_risk(frame, names, "w")
    with pytest.raises(ValueError, match=r"^frame must have at least one row, got none"):
        individual_risk(frame.head(0), ["age"], "w")
    with pytest.raises(KeyError):
        individual_risk(frame, ["age"], "weight")


CASES = [(5, 0.01), (5, 0.1), (12, 0.01), (12, 0.1), (12, 0.25), (20, 0.01), (20, 0.1), (20, 0.25)]


def chance(rows, mean):
    """Sum the Poisson probabilities of up to so many rows."""
    return sum(exp(-mean) * mean**j / factorial(j) for j in range(rows + 1))


def test_k_of_a_k_map_by_estimate():
    assert [k_for_k_map(*case) for case in CASES] == [3, 4, 3, 6, 9, 3, 7, 12]
    for k, share in CASES:
        rows = k_for_k_map(k, share) - 1
        seen = [
            (chance(one, k * share) - chance(0, k * share)) / (1 - chance(0, k * share)) for one in (rows - 1, rows)
        ]
        assert seen[0] < 0.99 <= seen[1]
    assert (KAnonymity() >= k_for_k_map(12, 0.1)).bound == 6


def test_arx_counts_one_on_without_the_condition_that_a_class_is_seen():
    """Compare with ARX's Poisson variant, which never asks for fewer rows."""
    asked = []
    for k, share in CASES:
        least = next(rows for rows in range(k + 1) if chance(rows, k * share) >= 0.99)
        asked.append(min(k, least + 2))
    assert asked == [3, 5, 3, 6, 10, 4, 8, 13]
    assert all(k_for_k_map(*case) <= theirs for case, theirs in zip(CASES, asked, strict=True))


@given(k=st.integers(1, 2000), share=st.floats(0.001, 1))
def test_k_of_the_table_is_at_most_that_of_the_population(k, share):
    found = k_for_k_map(k, share)
    assert 1 <= found <= k
    assert k_for_k_map(k, share, 0.001) >= found
    assert k_for_k_map(k, 1) == k


@pytest.mark.parametrize(
    ("given_values", "sentence"),
    [
        ((0, 0.1), "k must be a whole number from 1 on, got 0"),
        ((2.5, 0.1), "k must be a whole number from 1 on, got 2.5"),
        ((5, 0), "share must be above 0 and at most 1, rows over persons, got 0"),
        ((5, 1.5), "share must be above 0 and at most 1, rows over persons, got 1.5"),
        ((5, 0.1, 1), "significance must be between 0 and 1, a chance, got 1"),
    ],
)
def test_arguments_of_a_k_map(given_values, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        k_for_k_map(*given_values)
