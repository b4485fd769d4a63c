"""Inference of a sensitive value, counted one by one."""

from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.comparison import inference

ROWS = st.lists(st.tuples(*[st.sampled_from(values) for values in ("ab", "xy", ["flu", "cold", "hiv", None])]))


@given(ROWS.filter(bool))
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


def test_what_is_refused():
    frame = pd.DataFrame({"zip": ["1*"], "ill": ["flu"]})
    for names in ([], ["zip", "ill"]):
        with pytest.raises(ValueError, match=r"^quasi_identifiers must name columns other than the sensitive one"):
            inference(frame, names, "ill")
    with pytest.raises(ValueError, match=r"^frame must have at least one row, got none"):
        inference(frame.head(0), ["zip"], "ill")
