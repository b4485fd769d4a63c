"""Class statistics and node order of stored proofs, against plain loops."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import with_a_way_in

from pymoo_anon.objectives.bounds import _SMALL, _write_fewest
from pymoo_anon.proofs import covering
from pymoo_anon.proofs.stored import layer_sizes

fill, following = with_a_way_in(covering._fill), with_a_way_in(covering._next)

# Whole numbers that are counted one by one, others, and those beyond both.
VALUES = st.sampled_from([-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, _SMALL - 1.0, float(_SMALL), _SMALL + 0.5, np.inf])
WHOLE = st.integers(0, 5).map(float)


@given(st.data())
def test_fewest_are_the_least_values_that_too_many_rows_have(data):
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    starts = np.cumsum([0, *lengths])
    n = int(starts[-1])
    sizes = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
    values = np.array(data.draw(st.lists(data.draw(st.sampled_from([VALUES, WHOLE])), min_size=n, max_size=n)))
    limit = data.draw(st.integers(0, int(sizes.sum())))
    gone = np.minimum(data.draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=n, max_size=n)), sizes)
    fewest = np.empty(len(lengths))
    _write_fewest(values, starts, sizes, gone, limit, np.empty(_SMALL, dtype=np.int64), fewest)
    for own, (a, b) in zip(fewest, pairwise(starts.tolist()), strict=True):
        left, out = (sizes - gone)[a:b], int(gone[a:b].sum())
        too_many = [v for v in [-np.inf, *values[a:b]] if out + left[values[a:b] <= v].sum() > limit]
        assert own == min(too_many, default=np.inf)


@pytest.mark.parametrize("lengths", [[2, 1, 3], [1], [4, 0, 2], [0, 0]], ids=str)
def test_layers_hold_every_node_once_in_the_order_of_numbers(lengths):
    lengths = np.array(lengths)
    every = np.array(np.unravel_index(np.arange(np.prod(lengths + 1)), tuple(lengths + 1))).T
    sizes = layer_sizes(lengths)
    for total in range(lengths.sum() + 1):
        seen = []
        for first in range(max(total - lengths[1:].sum(), 0), min(lengths[0], total) + 1):
            x = np.full(len(lengths), first)
            fill(1, total - first, lengths, x)
            changed = 0
            while changed >= 0:
                seen.append(x.tolist())
                before = x.copy()
                changed = following(x, lengths)
                assert changed < 0 or (x[:changed] == before[:changed]).all()
        assert seen == every[every.sum(axis=1) == total].tolist()
        assert len(seen) == sizes[total]
