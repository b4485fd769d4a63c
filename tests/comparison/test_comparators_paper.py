"""Every worked number of Dewri et al. 2009, from its Table 1."""

import pytest
from vectors import SIZES, UTILITIES, measured

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import (
    BreachProbability,
    Coverage,
    Dominance,
    Hypervolume,
    Minimum,
    SensitiveCount,
    Spread,
    Weighted,
)


def test_section_3():
    s, t = SIZES["T3a"], SIZES["T3b"]
    assert Minimum().index(s) == 3
    assert s.mean() == 3.4
    assert Minimum().index(measured(SensitiveCount("marital status"), "T3a")) == 1
    # P_binary is N (1 - P_cov), the other way round.
    assert (10 * (1 - Coverage().index(t, s)), 10 * (1 - Coverage().index(s, t))) == (0, 7)
    assert (Coverage().compare(s, t), Coverage().compare(t, s)) == ("worse", "better")


def test_section_1_and_2():
    assert Minimum().compare(SIZES["T3a"], SIZES["T3b"]) == "equal"
    assert Dominance().compare(SIZES["T3b"], SIZES["T3a"]) == "better"
    breaches = [measured(BreachProbability(), name) for name in ("T3a", "T3b")]
    assert Dominance().compare(*breaches) == "worse"
    # Person 8 is better off with T4, person 3 with T3b.
    eighth, third = paper.ROWS[7], paper.ROWS[2]
    assert SIZES["T4"].values[eighth] > SIZES["T3b"].values[eighth]
    assert SIZES["T4"].values[third] < SIZES["T3b"].values[third]
    assert Dominance().compare(SIZES["T4"], SIZES["T3b"]) == "incomparable"


def test_section_5_2():
    assert Coverage().compare(SIZES["T4"], SIZES["T3a"]) == "better"
    assert Coverage().compare(SIZES["T3b"], SIZES["T4"]) == "better"


def test_section_5_3():
    d1, d2 = (2, 2, 3, 4, 5), (3, 2, 4, 2, 3)
    assert Coverage().index(d1, d2) == Coverage().index(d2, d1) == 3 / 5
    assert (Spread().index(d1, d2), Spread().index(d2, d1)) == (4, 2)
    assert (Coverage().compare(d1, d2), Spread().compare(d1, d2)) == ("equal", "better")


TWO_ANONYMOUS = (2, 2, 6, 6, 6, 6, 6, 6, 3, 3, 3, 4, 4, 4, 4)


@pytest.mark.parametrize(
    ("eighth", "lost_and_won"),
    [
        (3, (2, 10)),  # as printed
        (5, (2, 8)),  # as the text says: P_spr is 2 and 8
    ],
)
def test_section_5_3_has_a_misprint(eighth, lost_and_won):
    three_anonymous = [3, 3, 3, 5, 5, 5, 5, eighth, 3, 3, 3, 4, 4, 4, 4]
    spreads = Spread().index(three_anonymous, TWO_ANONYMOUS), Spread().index(TWO_ANONYMOUS, three_anonymous)
    assert spreads == lost_and_won
    gained = {i + 1 for i, (a, b) in enumerate(zip(TWO_ANONYMOUS, three_anonymous, strict=True)) if a > b}
    assert gained == {3, 4, 5, 6, 7, 8}
    assert Spread().compare(TWO_ANONYMOUS, three_anonymous) == "better"
    assert Coverage().compare(TWO_ANONYMOUS, three_anonymous) == "better"
    assert Minimum().compare(TWO_ANONYMOUS, three_anonymous) == "worse"


def test_section_5_4():
    s, t = (3, 3, 3, 5, 5, 5, 5, 5), (4,) * 8
    assert (Hypervolume().volume(s, t), Hypervolume().volume(t, s)) == (3**3 * 5**5 - 3**3 * 4**5, 4**8 - 3**3 * 4**5)
    assert Hypervolume().compare(s, t) == "better"


def test_section_5_5():
    p_a, p_b, u_a, u_b = SIZES["T3a"], SIZES["T3b"], UTILITIES["T3a"], UTILITIES["T3b"]
    assert (Coverage().index(p_a, p_b), Coverage().index(p_b, p_a)) == (0.3, 1)
    assert (Coverage().index(u_a, u_b), Coverage().index(u_b, u_a)) == (1, 0.3)
    equal = Weighted([0.5, 0.5], Coverage())
    assert equal.index([p_a, u_a], [p_b, u_b]) == equal.index([p_b, u_b], [p_a, u_a])
    assert equal.compare([p_a, u_a], [p_b, u_b]) == "equal"
