"""l without a column, the least over all sensitive columns.

It is compared with rows, nodes and every column.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import more, nodes, tables

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, any_of
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.arguments import measure_names, short_name
from pymoo_anon.publishing import release, verify
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

EACH = [DistinctLDiversity("s0"), DistinctLDiversity("s1")]
WARD = pd.DataFrame(
    {
        "age": [1, 1, 1, 2, 2, 2],
        "ill": ["a", "b", "c", "a", "b", "b"],
        "paid": ["x", "x", "y", "y", "x", "z"],
    }
)


def ward(sensitive=("ill", "paid")):
    return Microdata.from_frame(WARD, {"age": Hierarchy.flat([1, 2])}, sensitive=sensitive)


@more(5)
@given(data=st.data(), table=tables())
def test_it_is_the_least_of_all_columns_whatever_is_suppressed_and_known(data, table):
    node, known = data.draw(nodes(table)), data.draw(st.sampled_from([None, any_of(1), any_of(2)]))
    least, each = DistinctLDiversity(known=known), [DistinctLDiversity(own.column, known=known) for own in EACH]
    bound = data.draw(st.integers(1, 4))
    for rule, own, others in (
        (AtMost(0), [], []),
        (Violating(0.5), [least >= bound], [one >= bound for one in each]),
    ):
        made = [table.microdata.equivalence_classes(table.generalization(node), rule, two) for two in (own, others)]
        np.testing.assert_array_equal(made[0].kept, made[1].kept)
        worth = np.minimum(*(one.of_classes(made[0]) for one in each))
        np.testing.assert_array_equal(least.of_classes(made[0]), worth)
        assert least.evaluate(made[0])[0] == min(one.evaluate(made[0])[0] for one in each)


@pytest.mark.parametrize("drop", [(), "paid", ("ill", "paid")])
def test_a_release_counts_it_again_in_all_columns(drop):
    problem = LatticeProblem(ward(), [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    made = release(WARD, problem, [0], drop=drop)
    own = made.claims[made.claims.measure == "l"].iloc[0]
    assert (own.promised, own.recounted, own.holds) == (2, 2, True)


def test_a_table_from_elsewhere_is_held_against_it():
    asked = [DistinctLDiversity() >= 2, DistinctLDiversity(known=["age"]) >= 3]
    claims = verify(WARD, ["age"], asked, sensitive=["ill", "paid"])
    assert (claims.recounted.tolist(), claims.holds.tolist()) == ([2, 2], [True, False])


def test_it_is_refused_without_a_sensitive_column():
    with pytest.raises(ValueError, match=r"DistinctLDiversity\(\) reads all sensitive columns of the table"):
        LatticeProblem(ward(sensitive=()), [DistinctLDiversity()])
    with pytest.raises(ValueError, match=r"DistinctLDiversity\(\) reads all sensitive columns of the table"):
        verify(WARD, ["age"], [DistinctLDiversity()])


def test_names_tell_it_from_that_of_a_column():
    both = [DistinctLDiversity(), DistinctLDiversity("ill")]
    assert list(measure_names(both).values()) == ["l", "l of ill"]
    assert [*map(short_name, both)] == ["l", "l:ill"]
    assert list(map(repr, both)) == ["DistinctLDiversity()", "DistinctLDiversity('ill')"]
