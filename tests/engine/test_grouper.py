"""A grouper shared by threads and interrupted calls, and its pool."""

import os
import pickle
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from processes import python

from pymoo_anon.engine import DistinctTuples, Grouper, ValueCounts, grouper
from pymoo_anon.engine.grouper import group

N_VALUES = 6


def random_table(seed=0, n=300, names=("s",)):
    """Draw distinct tuples of three attributes with values of every column."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, N_VALUES, size=(n, 3)), axis=0)
    counts = rng.integers(1, 5, size=len(codes))
    columns = {}
    for name in names:
        histogram = np.zeros((len(codes), 4), dtype=np.int64)
        for row, count in enumerate(counts):
            np.add.at(histogram[row], rng.integers(0, 4, size=count), 1)
        rows, values = np.nonzero(histogram)
        starts = np.searchsorted(rows, np.arange(len(codes) + 1))
        columns[name] = ValueCounts(starts, values, histogram[rows, values], 4)
    return DistinctTuples(codes, counts, (N_VALUES,) * 3, columns)


def random_maps(seed, n, fewest=1):
    """Draw generalizations and their numbers of groups."""
    rng = np.random.default_rng(seed)
    n_groups = rng.integers(fewest, N_VALUES + 1, size=(n, 3))
    maps = [np.concatenate([rng.permutation(np.arange(N_VALUES) % own) for own in row]) for row in n_groups]
    return np.array(maps), n_groups


def plain_classes(tuples, groups, column=None):
    """Count the size and values of every class, tuple by tuple."""
    sizes, values = Counter(), Counter()
    for t, codes in enumerate(tuples.codes):
        key = tuple(groups[tuples.offsets[j] + code] for j, code in enumerate(codes))
        sizes[key] += int(tuples.counts[t])
        if column is not None:
            own = tuples.columns[column]
            for e in range(own.starts[t], own.starts[t + 1]):
                values[key, int(own.values[e])] += int(own.counts[e])
    n_values = 0 if column is None else tuples.columns[column].n_values
    return sorted((size, *(values[key, value] for value in range(n_values))) for key, size in sizes.items())


def found_classes(classes, column=None):
    """Return the same of the engine's classes of one generalization."""
    sizes = classes.sizes[:, None]
    parts = [sizes] if column is None else [sizes, classes.columns[column].histogram()]
    return sorted(map(tuple, np.concatenate(parts, axis=1).tolist()))


def spaces(own):
    """Return the workspaces in the pool, distinct and ready for a call."""
    found = list(own._pool)
    assert len(set(map(id, found))) == len(found)
    for space in found:
        assert not space.scratch.cells.any()
        assert not space.scratch.tally.any()
        assert space.slots.marks.max() < space.slots.base[0]
    return found


def assert_still_right(own, tuples, column="s"):
    """Assert that calls give the plain result and return a workspace."""
    maps, n_groups = random_maps(99, 5)
    got = [found_classes(one, column) for batch in own.classes(maps, n_groups, columns=(column,)) for one in batch]
    assert got == [plain_classes(tuples, groups, column) for groups in maps]
    assert spaces(own)


def test_eight_threads_share_one_grouper(monkeypatch):
    monkeypatch.setattr(grouper, "_BATCH_CLASSES", 1)
    tuples = random_table()
    own = Grouper(tuples)
    maps, n_groups = random_maps(1, 24)
    expected = {column: [plain_classes(tuples, groups, column) for groups in maps] for column in (None, "s")}
    ready, failed = threading.Barrier(8), []

    def work(number):
        rng = np.random.default_rng(number)
        ready.wait()
        try:
            for _ in range(25):
                column, i = (None, "s")[rng.integers(2)], int(rng.integers(20))
                columns = () if column is None else (column,)
                asked = {"columns": columns, "limit": int(rng.integers(50))}
                # The batch is read after its call has ended.
                (one,) = own.classes(maps[i : i + 1], n_groups[i : i + 1], **asked)
                # This call is left after some batches.
                at = i
                for batch in own.classes(maps[i:], n_groups[i:], **asked):
                    for got in batch:
                        assert found_classes(got, column) == expected[column][at]
                        at += 1
                    if at > i + 2:
                        break
                assert found_classes(one, column) == expected[column][i]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert 1 <= len(spaces(own)) <= 3 * 8, "a thread holds at most three batches"
    assert_still_right(own, tuples)


def test_a_batch_stays_as_it_is_while_somebody_holds_it():
    tuples = random_table()
    own = Grouper(tuples)
    maps, n_groups = random_maps(2, 3)
    (first,) = own.classes(maps[:1], n_groups[:1], columns=("s",))
    part = first[0]
    (second,) = own.classes(maps[1:2], n_groups[1:2], columns=("s",))
    assert found_classes(first, "s") == found_classes(part, "s") == plain_classes(tuples, maps[0], "s")
    assert found_classes(second, "s") == plain_classes(tuples, maps[1], "s")
    del first, second
    assert len(spaces(own)) == 1, "a part of the first batch is still held"
    (third,) = own.classes(maps[2:], n_groups[2:])
    assert found_classes(part, "s") == plain_classes(tuples, maps[0], "s")
    copied = third.copy()
    with pytest.raises(IndexError, match=r"^index must be in 0\.\.0, got 1$"):
        third[1]
    del part, third
    assert copied.lease is None
    assert len(spaces(own)) == 2


@pytest.mark.parametrize("leave", ["abandon", "close", "throw", "raise", "interrupt"])
def test_a_call_that_is_left_in_the_middle_leaves_nothing_behind(monkeypatch, leave):
    monkeypatch.setattr(grouper, "_BATCH_CLASSES", 1)
    tuples = random_table()
    own = Grouper(tuples)
    maps, n_groups = random_maps(3, 6, fewest=N_VALUES)

    def left():
        batches = own.classes(maps, n_groups, columns=("s",), limit=9)
        before = len(next(batches))
        held = next(batches)[0]
        if leave == "close":
            batches.close()
        elif leave == "throw":
            with pytest.raises(ValueError, match=r"^thrown$"):
                batches.throw(ValueError("thrown"))
        elif leave == "raise":
            raise ValueError("raised")
        elif leave == "interrupt":
            raise KeyboardInterrupt
        assert spaces(own) == []
        del batches
        assert_still_right(own, tuples)
        assert found_classes(held, "s") == plain_classes(tuples, maps[before], "s")

    if leave in ("raise", "interrupt"):
        with pytest.raises((ValueError, KeyboardInterrupt)):
            left()
    else:
        left()
    assert_still_right(own, tuples)
    assert len(spaces(own)) == {"raise": 1, "interrupt": 1}.get(leave, 2)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_workspace_whose_step_was_broken_off_is_dropped(monkeypatch, error):
    tuples = random_table()
    own = Grouper(tuples)
    assert_still_right(own, tuples)
    (space,) = own._pool

    def broken(*arguments):
        space.scratch.cells[:] = 7
        raise error

    maps, n_groups = random_maps(4, 2)
    with monkeypatch.context() as patch:
        patch.setattr(grouper, "group", broken)
        with pytest.raises(error):
            list(own.classes(maps, n_groups, columns=("s",)))
    assert own._pool == []
    assert_still_right(own, tuples)


def test_a_workspace_that_could_not_be_laid_out_is_dropped(monkeypatch):
    tuples = random_table(names=("s", "t"))
    own = Grouper(tuples)
    assert_still_right(own, tuples)
    with monkeypatch.context() as patch:
        patch.setattr(grouper, "Output", lambda **_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            list(own.classes(*random_maps(4, 2), columns=("s", "t")))
    assert own._pool == []
    assert_still_right(own, tuples)


def test_an_interrupt_before_a_workspace_is_leased_tells_nothing():
    grouper._Lease.__new__(grouper._Lease).__del__()


def test_an_unknown_column_costs_no_workspace():
    tuples = random_table()
    own = Grouper(tuples)
    assert_still_right(own, tuples)
    with pytest.raises(KeyError, match="unknown"):
        list(own.classes(*random_maps(0, 1), columns=("unknown",)))
    assert len(spaces(own)) == 1


def test_columns_that_share_an_array_are_told_apart():
    starts = np.arange(3)
    starts.flags.writeable = False
    columns = {
        "a": ValueCounts(starts, np.array([0, 1]), np.array([2, 3]), 2),
        "b": ValueCounts(starts, np.array([1, 1]), np.array([2, 3]), 2),
    }
    own = Grouper(DistinctTuples([[0], [1]], [2, 3], (2,), columns))
    for name, expected in (("a", [[2, 0], [0, 3]]), ("b", [[0, 2], [0, 3]])):
        (classes,) = own.classes(np.array([[0, 1]]), np.array([[2]]), columns=(name,))
        assert classes.columns[name].histogram().tolist() == expected


@pytest.mark.parametrize("name", [3, ("zip", 1), None, 2.5, "text"])
def test_columns_have_any_hashable_name(name):
    tuples = random_table(names=(name, "other"))
    maps, n_groups = random_maps(5, 3)
    (classes,) = Grouper(tuples).classes(maps, n_groups, columns=("other", name))
    assert list(classes.columns) == ["other", name]
    for one, groups in zip(classes, maps, strict=True):
        assert found_classes(one, name) == plain_classes(tuples, groups, name)
    assert tuples.totals(name).sum() == tuples.n_rows


def test_values_of_more_rows_than_a_cell_can_count():
    """Count 5·10⁹ rows in one class, 4.5·10⁹ with the same value."""
    counts = np.array([3 * 10**9, 2 * 10**9])
    column = ValueCounts(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([5 * 10**8 * 5, 5 * 10**8, 2 * 10**9]), 2)
    own = Grouper(DistinctTuples([[0], [1]], counts, (2,), {"s": column}))
    (classes,) = own.classes(np.array([[0, 0]]), np.array([[1]]), columns=("s",))
    assert classes.columns["s"].histogram().tolist() == [[45 * 10**8, 5 * 10**8]]


UNCOMPILED = """
import numpy as np
from pymoo_anon.engine import Grouper, grouper, grouping
from test_grouper import N_VALUES, found_classes, plain_classes, random_table

assert grouper.group.dispatcher is grouper.group.py_func
tiny, taken = None, set()
for name in ("_number_by_key", "_number_by_hash", "add_values", "merge_values"):
    def watched(*arguments, name=name, own=getattr(grouping, name)):
        taken.add((tiny, name))
        return own(*arguments)

    setattr(grouping, name, watched)
tuples = random_table(n=60, names=("s", "t"))
widths = np.array([1, 2, 6, 3, 6])
maps = np.tile(np.arange(N_VALUES), 3) // widths[:, None]
n_groups = np.repeat(-(-N_VALUES // widths)[:, None], 3, axis=1)
expected = [plain_classes(tuples, groups, "t") for groups in maps]
settings = dict(vars(grouper))
for tiny in (None, "_BATCH_CLASSES", "_BATCH_ENTRIES", "_FEWEST_SLOTS", "_CELLS"):
    for room in (0, 0.3, 1, 2):
        vars(grouper).update(settings)
        if tiny is not None:
            setattr(grouper, tiny, 1)
        grouper._KEPT_LAYERS = room
        own = Grouper(tuples)
        for sources in (None, np.array([-1, 0, 1, 0, 3])):
            batches = own.classes(maps, n_groups, sources=sources, columns=("s", "t"), limit=20)
            got = [[found_classes(one, "t") for one in batch] for batch in batches]
            assert sum(got, []) == expected, (tiny, room)
            assert (len(got) > 1) == (tiny in ("_BATCH_CLASSES", "_BATCH_ENTRIES"))
assert taken >= {(None, "_number_by_key"), ("_FEWEST_SLOTS", "_number_by_hash"), (None, "add_values")}
assert ("_CELLS", "merge_values") in taken
assert (None, "merge_values") not in taken
"""


def test_no_index_is_out_of_range_however_small_the_room():
    """Run uncompiled, as numpy then checks every index."""
    done = python("-c", UNCOMPILED, NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join(sys.path))
    assert done.returncode == 0, done.stderr


def test_arrays_in_any_order_are_grouped_by_the_same_loop():
    tuples = random_table()
    maps, n_groups = random_maps(1, 6)
    found, compiled = [], []
    for order in "CF":
        arrays = np.asarray(maps, order=order), np.asarray(n_groups, order=order)
        for array in arrays:
            array.flags.writeable = False
        batches = Grouper(tuples).classes(*arrays)
        found.append([found_classes(one) for batch in batches for one in batch])
        compiled.append(len(group.signatures))
    assert found == [[plain_classes(tuples, own) for own in maps]] * 2
    assert compiled[0] == compiled[1]


def test_no_generalizations_have_no_classes():
    own = Grouper(random_table())
    assert list(own.classes(np.empty((0, 18), dtype=np.int64), np.empty((0, 3), dtype=np.int64))) == []
    assert len(spaces(own)) == 1


def test_a_pickle_takes_no_memory_along():
    tuples = random_table()
    own = Grouper(tuples)
    assert_still_right(own, tuples)
    again = pickle.loads(pickle.dumps(own))
    assert again._pool == []
    assert_still_right(again, tuples)
