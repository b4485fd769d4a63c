"""Hierarchies of values, days and intervals, their nodes, findings about their files, and changes of them."""

import copy
import io
import pickle
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import hierarchy_files
from strategies import hierarchies

from pymoo_anon.table import Finding, Hierarchy, Microdata, check_hierarchy
from pymoo_anon.table.domain_values import Bins
from pymoo_anon.table.hierarchy_edits import merged, moved, split, with_widths

CITIES = Hierarchy([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]])


def test_a_hierarchy_has_a_domain_groups_and_labels():
    assert CITIES.domain == ("a", "b", "c")
    assert CITIES.groups.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert CITIES.labels == (("a", "b", "c"), ("ab", "c"), ("*",))
    assert CITIES.n_groups.tolist() == [3, 2, 1]
    assert (CITIES.length, CITIES.n_values, CITIES.has_root) == (2, 3, True)
    assert repr(CITIES) == "Hierarchy(3 values, levels of 3, 2, 1 groups)"
    assert Hierarchy.flat("xy") == Hierarchy([["x", "y"], ["*", "*"]])


@given(hierarchies())
def test_every_level_is_a_coarsening_of_the_one_below(hierarchy):
    for (below, groups), labels in zip(pairwise(hierarchy.groups), hierarchy.labels[1:], strict=True):
        assert len(set(zip(below, groups, strict=True))) == len(set(below))
        assert list(dict.fromkeys(groups)) == list(range(len(labels)))


def test_hierarchies_of_the_same_values_are_equal_and_hash_alike():
    one, other = Hierarchy.flat([0.1, 17]), Hierarchy.flat([Decimal("0.1"), 17.0])
    assert (one, hash(one)) == (other, hash(other))
    assert Hierarchy.flat([1]) != Hierarchy.flat([True])
    left, right = (Hierarchy.intervals(0, 4, [], 2, closed) for closed in ("left", "right"))
    assert Hierarchy([left.domain, ["*"] * 2]) != left != right


def test_values_are_the_same_where_they_are_equal_and_of_one_kind():
    assert Hierarchy([[1, True, "1"], ["a", "b", "c"]]).n_groups.tolist() == [3, 3]
    assert Hierarchy([["a", "b", "c"], [1, True, 1.0]]).groups[1].tolist() == [0, 1, 0]


def test_runs_of_values_are_labelled_by_what_they_hold():
    ages = Hierarchy.flat([17, 18, 19, 30])
    assert [ages.run_label(*run) for run in ((1, 1), (0, 2), (2, 3), (0, 3))] == [18, "17–19", "19 | 30", "*"]
    sexes = Hierarchy.flat(["F", "M", None])
    assert [sexes.run_label(*run) for run in ((2, 2), (0, 1), (1, 2), (0, 2))] == [None, "F | M", "M | None", "*"]
    fives = Hierarchy.intervals(0, 20, [], 5, "right")
    assert [fives.run_label(*run) for run in ((0, 0), (0, 2), (0, 3))] == ["1–5", "1–15", "*"]
    assert Hierarchy.flat(["alone"]).run_label(0, 0) == "alone"


def test_values_are_encoded_by_their_bins():
    bins = Bins((0, 5, 10), "left", True)
    assert Hierarchy([["young", "old"], ["*", "*"]], bins).encode([7, 3]).tolist() == [1, 0]


@given(hierarchies(max_values=2), hierarchies(max_values=2))
def test_equality_is_that_of_values_groups_and_labels(one, other):
    same = one.domain == other.domain and one.labels == other.labels and np.array_equal(one.groups, other.groups)
    assert (one == other) == same
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert one != "text"


@pytest.mark.parametrize("hierarchy", [CITIES, pickle.loads(pickle.dumps(CITIES))], ids=["built", "unpickled"])
def test_instances_do_not_change(hierarchy):
    for name in ("domain", "groups", "labels", "n_groups", "bins", "another"):
        with pytest.raises(AttributeError):
            setattr(hierarchy, name, None)
    with pytest.raises(AttributeError):
        del hierarchy.domain
    assert copy.deepcopy(hierarchy) is hierarchy
    assert not hierarchy.groups.flags.writeable
    assert not hierarchy.n_groups.flags.writeable


def holds(label, value):
    """Return whether a label, as a person reads it, covers a value."""
    if label == "*" or isinstance(label, int):
        return label == "*" or value == label
    if "–" in label:
        first, last = map(int, label.split("–"))
        return first <= value <= last
    low, high = map(float, label[1:-1].split(", "))
    return (low <= value if label[0] == "[" else low < value) and (value <= high if label[-1] == "]" else value < high)


@st.composite
def interval_arguments(draw):
    step = draw(st.sampled_from([1, 2, 5, "0.1", "0.25", "0.3", "1.0"]).map(Decimal))
    low = draw(st.integers(-40, 40)) * step
    high = low + draw(st.integers(1, 30)) * step
    widths, width = [], step
    for factor in draw(st.lists(st.integers(2, 4), max_size=3)):
        width *= factor
        widths.append(width)
    kind = int if step.as_tuple().exponent == 0 else float
    closed = draw(st.sampled_from(["left", "right"]))
    return kind(low), kind(high), [kind(width) for width in widths], kind(step), closed


@given(interval_arguments())
def test_interval_labels_say_what_is_in_the_bin(arguments):
    low, high, widths, step, closed = arguments
    hierarchy = Hierarchy.intervals(low, high, widths, step, closed)
    assert hierarchy.n_values == round((high - low) / step)
    assert hierarchy.has_root
    edges = [low, high, *(float(Decimal(str(low)) + i * Decimal(str(step))) for i in range(hierarchy.n_values))]
    values = {
        near for edge in edges for near in (edge, edge + step / 2, np.nextafter(edge, -99), np.nextafter(edge, 99))
    }
    values = {*range(low - 2, high + 3), low + 0.5} if isinstance(step, int) else values
    for value, position in zip(values, hierarchy.encode(list(values)), strict=True):
        inside = low <= value < high if closed == "left" else low < value <= high
        assert (position >= 0) == (inside and (isinstance(step, float) or value % 1 == 0))
        for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True):
            assert position < 0 or holds(labels[groups[position]], value)


def test_interval_labels_read_well():
    assert Hierarchy.intervals(0, 6, [4]).labels == ((0, 1, 2, 3, 4, 5), ("0–3", "4–5"), ("*",))
    assert Hierarchy.intervals(0, 4, [], 2, "right").labels == (("1–2", "3–4"), ("*",))
    assert Hierarchy.intervals(0, 0.4, [0.2], 0.1).labels[:2] == (
        ("[0.0, 0.1)", "[0.1, 0.2)", "[0.2, 0.3)", "[0.3, 0.4)"),
        ("[0.0, 0.2)", "[0.2, 0.4)"),
    )
    assert Hierarchy.intervals(0, 1, [], 0.5, "right").labels[0] == ("(0.0, 0.5]", "(0.5, 1.0]")


def test_ages_in_steps_of_five_have_twenty_values():
    ages = Hierarchy.intervals(0, 100, widths=[], step=5)
    assert ages.n_groups.tolist() == [20, 1]
    values = [0, 4, 5, 99, 17.0, 100, -1, 17.5, None, "17", True]
    assert ages.encode(values).tolist() == [0, 0, 1, 19, 3] + [-1] * 6


def test_encode_tells_numbers_text_and_truth_apart():
    mixed = Hierarchy([[17, "17", "07", True, None, 2.5]])
    values = [17, 17.0, "17", "07", True, None, 2.5, 7, 1, "None"]
    assert mixed.encode(values).tolist() == [0, 0, 1, 2, 3, 4, 5, -1, -1, -1]
    assert Hierarchy.flat(["true", "False"]).encode([True, False, 1]).tolist() == [0, 1, -1]
    assert CITIES.encode([]).tolist() == []


def test_with_numbers_reads_what_text_spells():
    text = Hierarchy([["17", "018", "2.50", "x"], ["1", "1", "2", "2"], ["low", "low", "2", "2"]])
    numbers = text.with_numbers(int)
    assert numbers.domain == (17, 18, 2.5, "x")
    assert numbers.labels[1:] == ((1, 2), ("low", "2"))
    assert text.domain[0] == "17"
    assert [type(v) for v in Hierarchy.flat(["1", "2.0"]).with_numbers(int).domain] == [int, int]
    assert [type(v) for v in Hierarchy.flat(["1", "2.0"]).with_numbers(float).domain] == [float, float]
    # Labels that spell the same number stay the text they are, so that no two groups merge.
    assert Hierarchy([["1", "2"], ["1", "01"]]).with_numbers(int).labels[1] == ("1", "01")


def test_with_numbers_is_exact():
    large = ["9007199254740992", "9007199254740993"]
    assert Hierarchy.flat(large).with_numbers(float).domain == (2.0**53, 2**53 + 1)
    decimals = Hierarchy.flat([*large, "0.10", "1e400"]).with_numbers(Decimal)
    assert decimals.domain == (2**53, 2**53 + 1, Decimal("0.1"), Decimal("1e400"))
    values = [0.1, Decimal("0.100"), Decimal(2**53 + 1), Decimal("0.10000000000000000001")]
    assert decimals.encode(values).tolist() == [2, 2, 1, -1]
    # Numbers beyond floats stay text.
    assert Hierarchy.flat(["1e400", "1" * 400]).with_numbers(float).domain == ("1e400", "1" * 400)


@given(hierarchies())
def test_with_root_adds_a_root_where_there_is_none(hierarchy):
    rooted = hierarchy.with_root()
    assert rooted.has_root
    assert rooted.labels[: hierarchy.length + 1] == hierarchy.labels
    assert (rooted is hierarchy) == hierarchy.has_root
    if not hierarchy.has_root:
        assert rooted.labels[-1] == ("*",)


@given(hierarchies())
def test_with_missing_stays_apart_up_to_the_root(hierarchy):
    more = hierarchy.with_missing()
    assert more.domain == (*hierarchy.domain, None)
    np.testing.assert_array_equal(more.groups[:, :-1], hierarchy.groups)
    rooted = hierarchy.has_root and hierarchy.length > 0
    extra = np.ones(hierarchy.length + 1, dtype=int)
    extra[-1] -= rooted
    np.testing.assert_array_equal(more.n_groups, hierarchy.n_groups + extra)
    assert more.with_missing() is more


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("step", [5, 2.5])
def test_intervals_keep_their_bins_when_they_are_extended(closed, step):
    edge = 1 if closed == "left" else 0
    built = Hierarchy.intervals(0, 2 * step, [], step, closed)
    for extended in (built.with_numbers(float), built.with_root(), built.with_missing().with_root().with_numbers(int)):
        assert extended.bins == built.bins
        assert extended.encode([step, 3.0, -1]).tolist() == [edge, 0 if step == 5 else 1, -1]
    missing = built.with_missing()
    assert missing.encode([step, None, 2 * step]).tolist() == [edge, 2, -1 if closed == "left" else 1]
    assert built.encode([None]).tolist() == [-1]
    assert missing.n_groups.tolist() == [3, 1]
    assert missing.run_label(0, 1) == built.bins.label(0, 1)
    assert missing.run_label(1, 2) == f"{built.domain[1]} | None"


def test_bins_know_decimals_as_they_are_written():
    bins = Hierarchy.intervals(0, 1, [], 0.1)
    tenths = [Decimal(i) / 10 for i in range(10)]
    assert bins.encode(tenths).tolist() == list(range(10))
    assert bins.encode([float(tenth) for tenth in tenths]).tolist() == list(range(10))
    just_below = Decimal("0.29999999999999999999")  # which is 0.3 as a float
    assert bins.encode([just_below, Decimal("0.3")]).tolist() == [2, 3]
    assert Hierarchy.intervals(0, 1, [], 0.1, "right").encode([Decimal("0.30000000000000000001")]).tolist() == [3]
    unreal = [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e400"), float("nan"), float("-inf")]
    for closed in ("left", "right"):
        assert Hierarchy.intervals(0, 1, [], 0.1, closed).encode([*unreal, 10**400]).tolist() == [-1] * 7
    whole = Hierarchy.intervals(0, 3, [])
    values = [Decimal("2.0"), Decimal(2), Decimal("2.00000000000000000001"), np.int8(2)]
    assert whole.encode(values).tolist() == [2, 2, -1, 2]
    large = Hierarchy.intervals(2**53, 2**53 + 4, [])
    assert large.encode([Decimal(2**53 + 1), Decimal(2**53 + 3)]).tolist() == [1, 3]


def sets_of(hierarchy):
    """Map every group's value set to its lowest level and label."""
    found = {}
    for level, groups in enumerate(hierarchy.groups):
        for group, label in enumerate(hierarchy.labels[level]):
            found.setdefault(frozenset(np.flatnonzero(groups == group).tolist()), (level, label))
    return found


@given(hierarchies(rooted=True))
def test_the_nodes_are_the_groups_of_all_levels(hierarchy):
    expected = sets_of(hierarchy)
    names = {}
    for own, (_, label) in expected.items():
        names.setdefault(str(label), set()).add(own)
    if any(len(own) > 1 for own in names.values()):
        with pytest.raises(ValueError, match="a label must name the same values at every level"):
            _ = hierarchy.nodes
        return
    nodes = hierarchy.nodes
    sets = [
        frozenset(np.flatnonzero((nodes.order >= a) & (nodes.order < b)).tolist())
        for a, b in zip(nodes.first, nodes.stop, strict=True)
    ]
    assert len(set(sets)) == len(sets) == len(nodes)
    assert set(sets) == set(expected)
    assert [expected[own] for own in sets] == list(zip(nodes.level.tolist(), nodes.labels, strict=True))
    assert nodes.parent[0] == -1
    for x, own in enumerate(sets[1:], start=1):
        above = [other for other in sets if other > own]
        assert sets[nodes.parent[x]] == min(above, key=len)
        # A node comes directly before all nodes below it.
        below = [y for y, other in enumerate(sets) if other < own]
        assert below == list(range(x + 1, x + 1 + len(below)))
    for level, groups in enumerate(hierarchy.groups):
        for value, node in enumerate(nodes.ancestors[level]):
            assert sets[node] == frozenset(np.flatnonzero(groups == groups[value]).tolist())
    assert nodes.losses[0] == (hierarchy.n_values > 1)


def test_nodes_do_not_change_and_are_not_pickled():
    cities = Hierarchy([["Bonn", "Paris", "Cologne"], ["DE", "FR", "DE"], ["*", "*", "*"]])
    nodes = cities.nodes
    assert cities.nodes is nodes
    for array in (nodes.order, nodes.first, nodes.stop, nodes.parent, nodes.level, nodes.ancestors):
        assert not array.flags.writeable
    again = pickle.loads(pickle.dumps(cities))
    assert again == cities
    assert "nodes" not in vars(again)
    assert again.nodes.labels == nodes.labels


def test_one_label_for_one_set_at_two_levels_is_one_node():
    fine = Hierarchy([["a", "b", "c"], ["Other", "Other", "c"], ["Other", "Other", "c"]]).with_root()
    assert fine.nodes.labels == ("*", "Other", "a", "b", "c")


def test_what_is_missing_is_no_text():
    assert Hierarchy.flat(["None", "a"]).with_missing().nodes.labels == ("*", "None", "a", None)


DAYS = [date(2021, 3, 5), date(2021, 3, 6), date(1969, 12, 31)]
MONTHS = ["2021-03", "2021-03", "1969-12"]
EAST = timezone(timedelta(hours=9))

DOMAINS = {
    "dates": DAYS,
    "text": [str(day) for day in DAYS],
    "midnights": [datetime.combine(day, time()) for day in DAYS],
    "pandas": [pd.Timestamp(day) for day in DAYS],
    "mixed": [DAYS[0], str(DAYS[1]), pd.Timestamp(DAYS[2])],
}
SPELLINGS = {
    "date": lambda day: day,
    "text": str,
    "midnight": lambda day: datetime.combine(day, time()),
    "evening": lambda day: datetime.combine(day, time(23, 59, 59, 999_999)),
    "Timestamp": lambda day: pd.Timestamp(day) + pd.Timedelta(hours=23),
    "numpy day": np.datetime64,
    "numpy moment": lambda day: np.datetime64(f"{day}T23:59:59.999999999"),
    "elsewhere": lambda day: datetime.combine(day, time(1), tzinfo=EAST),
    "ISO": lambda day: f"{day}T10:00",
    "ISO hour": lambda day: f"{day}T10",
    "ISO Z": lambda day: f"{day}T23:30:00Z",
    "ISO offset": lambda day: f"{day}T23:30:00.5+0200",
    "ISO comma": lambda day: f"{day}T23:30:00,5-02",
    "Python": lambda day: str(datetime.combine(day, time(10, 0, 1), tzinfo=EAST)),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_spelling_matches_its_day(domain, spelling):
    hierarchy = Hierarchy([DOMAINS[domain], MONTHS]).with_missing()
    values = [*map(SPELLINGS[spelling], [*DAYS, date(2021, 3, 7)]), None]
    assert hierarchy.encode(values).tolist() == [0, 1, 2, -1, 3]


def test_nothing_else_does():
    texts = ["05.03.2021", "2021-3-5", " 2021-03-05", "2021-03-05 ", "2021-03-05T", "2021-03-05T1", "2021-03-05Z"]
    texts += ["2021-03-05x10:00", "2021-02-30", "20210305", "", "２０２１-03-05"]
    values = [*texts, 20210305, 2021.0305, pd.NaT, float("nan"), True]
    assert Hierarchy.flat(DAYS).encode(values).tolist() == [-1] * len(values)


def test_values_that_stand_in_the_domain_come_first():
    """Match moments to days only if the domain holds distinct days and no moments."""
    for domain in (
        ["2021-03-05", "2021-03-05T10:00"],
        ["2021-03-05", date(2021, 3, 5)],
        [datetime(2021, 3, 5, 1), "2021-03-05"],
        [datetime(2021, 3, 5, tzinfo=EAST), "2021-03-05"],
    ):
        hierarchy = Hierarchy.flat(domain)
        assert hierarchy.encode(domain).tolist() == [0, 1]
        assert hierarchy.encode(["2021-03-05T11:00", datetime(2021, 3, 5, 11)]).tolist() == [-1, -1]
    for other in ("2021-03-05T10:00", datetime(2021, 3, 5, 10), datetime(2021, 3, 5, tzinfo=EAST)):
        assert (
            Hierarchy.flat(["2021-03-06", other]).encode(["2021-03-05T11:00", "2021-03-06T11:00"]).tolist() == [-1] * 2
        )


def test_an_infinite_number_matches_its_text():
    """Match the texts of a drafted hierarchy to a column of floats."""
    hierarchy = Hierarchy.flat(["1.5", "inf", "-inf"]).with_numbers(float)
    values = [float("inf"), float("-inf"), np.float64("inf"), 1.5, 2.5, float("nan")]
    assert hierarchy.encode(values).tolist() == [1, 2, 1, 0, -1, -1]


def test_days_match_beside_another_text():
    hierarchy = Hierarchy.flat(["2021-03-05", "unknown", "2021", 7, "2021-03-06"])
    values = ["2021-03-05 11:00", "unknown", "2021", 7, datetime(2021, 3, 6, 11), "2021-03-07", "never"]
    assert hierarchy.encode(values).tolist() == [0, 1, 2, 3, 4, -1, -1]


def test_an_empty_text_is_missing_where_no_value_is_empty():
    assert Hierarchy.flat(["a", None]).encode(["", None]).tolist() == [1, 1]
    assert Hierarchy.flat(["", None]).encode(["", None]).tolist() == [0, 1]
    assert Hierarchy.flat(["", "a"]).encode(["", None]).tolist() == [0, -1]
    bins = Hierarchy.intervals(0, 4, widths=[2])
    assert bins.with_missing().encode(["", None, 3, "3"]).tolist() == [4, 4, 3, -1]
    assert bins.encode(["", None, 3]).tolist() == [-1, -1, 3]


def test_a_missing_value_matches_no_text_that_spells_it():
    gaps = [None, float("nan"), Decimal("nan"), pd.NaT, pd.NA]
    texts = ["None", "nan", "NaN", "NaT", "<NA>"]
    assert Hierarchy.flat(texts).encode(gaps).tolist() == [-1] * 5
    for own in (Hierarchy.flat(texts), Hierarchy.flat(DAYS), Hierarchy.intervals(0, 2, [])):
        assert own.with_missing().encode(gaps).tolist() == [own.n_values] * 5


@given(st.datetimes(datetime(1, 1, 2), timezones=st.none() | st.timezones()))
def test_any_moment_matches_its_own_day(moment):
    """Compare with Python's own calendar."""
    hierarchy = Hierarchy.flat([moment.date() - timedelta(1), moment.date()])
    assert hierarchy.encode([moment, moment.isoformat(), str(moment)]).tolist() == [1, 1, 1]


def said(text, values=None):
    return [str(finding) for finding in check_hierarchy(io.StringIO(text, newline=""), values)]


BLOCKS = Path(__file__).with_name("findings.txt").read_text(encoding="utf-8").split(">>> ")[1:]


@pytest.mark.parametrize("block", BLOCKS)
def test_findings(block):
    given, *findings = block.strip().splitlines()
    assert said(*eval(f"{given},", {"Decimal": Decimal, "pd": pd})) == findings


def test_everything_is_found_at_once():
    """Report all defects of a file at once.

    Fixing one defect must not show the next.
    """
    text = "a;x;1;\na;x;1;\nA ;x;2;\nb;\nc;y;3;\n"
    found = check_hierarchy(io.StringIO(text), ["a", "q"])
    assert [finding.severity for finding in found] == ["error"] * 5 + ["warning"] * 2 + ["note"]
    assert found[2] == Finding("error", "values with more than one row", ("'a'",), 1)
    assert found[-1].examples == ("'A '", "'c'")


def test_a_file_in_another_encoding_is_a_finding(tmp_path):
    (tmp_path / "h.csv").write_bytes("Zürich;*\n".encode("latin-1"))
    (finding,) = check_hierarchy(tmp_path / "h.csv")
    assert finding.severity == "error"
    assert finding.what.startswith("the file must be text in UTF-8 or UTF-16, got the byte 0xfc in line 1")


COLUMN = pd.DataFrame({"q": ["a0", "b0", None]}, dtype=object)


def refusal(read):
    try:
        return read() and None
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_errors_are_found_exactly_where_a_file_is_refused(tmp_path, start):
    """Refuse or load malformed files in agreement with the findings.

    A refusal is one sentence.
    """
    path = tmp_path / "h.csv"
    seen = set()
    for seed in range(start, start + 50):
        path.write_bytes(hierarchy_files(seed))
        message = refusal(lambda: Hierarchy.from_csv(path))
        errors = [finding for finding in check_hierarchy(path) if finding.severity == "error"]
        assert bool(errors) == (message is not None), (seed, message, errors)
        seen.add(bool(errors))
        if message is not None:
            assert message.startswith(str(path)), (seed, message)
            continue
        message = refusal(lambda: Microdata.from_frame(COLUMN, {"q": Hierarchy.from_csv(path)}, missing="keep"))
        errors = [finding for finding in check_hierarchy(path, COLUMN.q) if finding.severity == "error"]
        assert bool(errors) == (message is not None), (seed, message, errors)
    assert seen == {True, False}


def rows(hierarchy):
    """Return the labels of every value, from fine to coarse."""
    return [
        [labels[own[i]] for own, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)]
        for i in range(hierarchy.n_values)
    ]


@given(hierarchies(max_values=8, rooted=False).filter(lambda hierarchy: hierarchy.length > 0), st.randoms())
def test_every_change_is_that_of_the_rows(hierarchy, random):
    level, before = random.randint(1, hierarchy.length), rows(hierarchy)
    some = random.sample(hierarchy.labels[level], random.randint(1, len(hierarchy.labels[level])))
    head = next(row for row in before if row[level] == some[0])
    expected = [[*row[:level], "new", *head[level + 1 :]] if row[level] in some else row for row in before]
    assert rows(merged(hierarchy, level, some, "new")) == expected
    assert rows(merged(hierarchy, level, some[:1], "new")) == [
        [*row[:level], "new", *row[level + 1 :]] if row[level] == some[0] else row for row in before
    ]
    members = random.sample(hierarchy.labels[level - 1], 1)
    expected = [[*row[:level], *head[level:]] if row[level - 1] in members else row for row in before]
    assert rows(moved(hierarchy, level, members, some[0])) == expected
    expected = [[*row[:level], "new", *row[level + 1 :]] if row[level - 1] in members else row for row in before]
    assert rows(split(hierarchy, level, members, "new")) == expected


@given(
    st.lists(st.integers(-300, 300), min_size=1, max_size=20, unique=True),
    st.sampled_from([[5], [5, 10], [3, 6, 24], [1]]),
)
def test_intervals_hold_their_numbers(numbers, widths):
    made = with_widths(Hierarchy.flat(map(str, numbers)), widths)
    for number, row in zip(numbers, rows(made), strict=True):
        for width, label in zip(widths, row[1:-1], strict=True):
            low = number // width * width
            assert label == (str(low) if width == 1 else f"{low}–{low + width - 1}") or label == low
        assert row[-1] == "*"


def test_fractions_and_gaps_have_intervals_too():
    made = with_widths(Hierarchy([["0.5", "1.25", "7", None], ["*"] * 4]), [0.5, 2])
    assert rows(made) == [
        ["0.5", "[0.5, 1.0)", "[0, 2)", "*"],
        ["1.25", "[1.0, 1.5)", "[0, 2)", "*"],
        ["7", "[7.0, 7.5)", "[6, 8)", "*"],
        [None, None, None, "*"],
    ]
    # 29 digits are exact, and whole widths lose no fraction.
    made = with_widths(Hierarchy.flat([f"{10**17}.{i:012}" for i in (1, 3)]), [Decimal("2e-12"), 5])
    ends = [f"[{10**17}.{low:012}, {10**17}.{low + 2:012})" for low in (0, 2)]
    assert [row[1:] for row in rows(made)] == [[own, f"[{10**17}, {10**17 + 5})", "*"] for own in ends]
