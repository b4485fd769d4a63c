"""Hierarchies: builders, files, intervals, numbers against text, and what is refused."""

import io
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import hierarchies, level_columns

from pymoo_anon.table import Hierarchy

CITIES = Hierarchy.from_levels([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]])
# All that UTF-8 holds but the mark at the beginning of a file, which is no text, and NUL, which Python 3.10 does not
# write.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff\0") | st.sampled_from(';"\n\r '), max_size=4)


@st.composite
def text_hierarchies(draw):
    """Hierarchies of text of any kind, labels included."""
    domain, *levels = draw(level_columns(draw(st.lists(texts, min_size=1, max_size=6, unique=True))))
    labels = draw(st.lists(texts, min_size=6, max_size=6, unique=True))
    names = [dict(zip(dict.fromkeys(level), labels, strict=False)) for level in levels]
    return Hierarchy.from_levels(
        [domain, *([name[x] for x in level] for name, level in zip(names, levels, strict=True))]
    )


def test_a_hierarchy_has_a_domain_groups_and_labels():
    assert CITIES.domain == ("a", "b", "c")
    assert CITIES.groups.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert CITIES.labels == (("a", "b", "c"), ("ab", "c"), ("*",))
    assert CITIES.n_groups.tolist() == [3, 2, 1]
    assert (CITIES.length, CITIES.n_values, CITIES.has_root) == (2, 3, True)
    assert repr(CITIES) == "Hierarchy(3 values, levels of 3, 2, 1 groups)"
    assert Hierarchy.flat("xy") == Hierarchy.from_levels([["x", "y"], ["*", "*"]])


@given(hierarchies())
def test_every_level_is_a_coarsening_of_the_one_below(hierarchy):
    for below, groups, labels in zip(hierarchy.groups, hierarchy.groups[1:], hierarchy.labels[1:], strict=False):
        assert len(set(zip(below, groups, strict=True))) == len(set(below))
        assert list(dict.fromkeys(groups)) == list(range(len(labels)))


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
    assert not hierarchy.groups.flags.writeable
    assert not hierarchy.n_groups.flags.writeable


@given(text_hierarchies())
@example(Hierarchy.flat(["with\rreturn", ""]))
def test_csv_gives_back_what_was_written(tmp_path_factory, hierarchy):
    path = tmp_path_factory.getbasetemp() / "hierarchy.csv"
    assert hierarchy.to_csv(path) is None
    text = hierarchy.to_csv()
    assert path.read_bytes() == text.encode()
    assert Hierarchy.from_csv(path) == hierarchy
    assert Hierarchy.from_csv(io.StringIO(text, newline="")) == hierarchy
    assert path.read_bytes() == text.encode()


CSV_FILES = {
    "usual": b"a;ab;*\nb;ab;*\nc;c;*\n",
    "no last newline": b"a;ab;*\nb;ab;*\nc;c;*",
    "Windows": b"a;ab;*\r\nb;ab;*\r\nc;c;*\r\n",
    "empty lines at the end": b"a;ab;*\nb;ab;*\nc;c;*\n\n\n",
    "quotes": b'"a";ab;"*"\nb;"ab";*\nc;c;*\n',
    "byte order mark": b"\xef\xbb\xbfa;ab;*\nb;ab;*\nc;c;*\n",
}


@pytest.mark.parametrize("kind", CSV_FILES)
def test_csv_files_of_other_tools_are_read(tmp_path, kind):
    path = tmp_path / "cities.csv"
    path.write_bytes(CSV_FILES[kind])
    assert Hierarchy.from_csv(path) == Hierarchy.from_csv(str(path)) == CITIES
    assert path.read_bytes() == CSV_FILES[kind]


@pytest.mark.parametrize("kind", CSV_FILES)
def test_open_csv_files_are_read(kind):
    with io.TextIOWrapper(io.BytesIO(CSV_FILES[kind]), encoding="utf-8", newline="") as file:
        assert Hierarchy.from_csv(file) == CITIES


def test_a_quote_that_is_never_closed_is_refused_however_long_the_file():
    with pytest.raises(ValueError, match=r"^the file "):
        Hierarchy.from_csv(io.StringIO('a;*\n"b;*\n' + "c;*\n" * 50_000))


@pytest.mark.parametrize("broken", ["values", "folder"])
def test_a_csv_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, broken):
    path = tmp_path / "cities.csv"
    path.write_text("what was there")
    lone_surrogate = "\ud800"
    hierarchy = Hierarchy.flat(["a", lone_surrogate]) if broken == "values" else CITIES
    if broken == "folder":

        def refuse(*_):
            raise OSError("no")

        monkeypatch.setattr("os.replace", refuse)
    with pytest.raises((UnicodeEncodeError, OSError)):
        hierarchy.to_csv(path)
    assert [p.name for p in tmp_path.iterdir()] == ["cities.csv"]
    assert path.read_text() == "what was there"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{} must hold at least one row value;level 1;level 2;..., got an empty file"),
        ("\n\n", "{} must hold at least one row value;level 1;level 2;..., got an empty file"),
        (
            "a;*\n" + "b\n" * 7,
            "{} must have rows of equal length: row 1 has 2 columns, others have not: rows 2, 3, 4, 5, 6 and 2 more",
        ),
        ("a;*\nb;*\na;*\n", "{}: levels must name each value once, given more than once: 'a'"),
        ("a;x;1\nb;x;2\n", "{}: level 2 must be a coarsening of level 1: it splits the groups 'x'"),
    ],
)
def test_csv_files_that_are_refused(tmp_path, text, message):
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(message.format(path))}$"):
        Hierarchy.from_csv(path)
    with pytest.raises(ValueError, match=f"^{re.escape(message.format('the file'))}$"):
        Hierarchy.from_csv(io.StringIO(text))


def test_a_csv_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "h.csv"
    path.write_bytes("Zürich;*\n".encode("latin-1"))
    with pytest.raises(ValueError, match="must be a text file in UTF-8, got a byte that is not"):
        Hierarchy.from_csv(path)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "levels must hold at least one value, got none"),
        ([[], []], "levels must hold at least one value, got none"),
        ([["a", "b"], ["*"]], "levels must be equally long: level 0 has 2 values, level 1 has 1 labels"),
        ([[1.0, float("nan")]], "levels must not hold NaN; None stands for a missing value"),
        ([[1, pd.NA]], "levels must not hold NaN; None stands for a missing value"),
        ([[1, 2], ["*", np.nan]], "levels must not hold NaN; None stands for a missing value"),
        ([[1, 2, 1.0]], "levels must name each value once, given more than once: 1.0"),
        (
            [[*"abcdefg"] * 2],
            "levels must name each value once, given more than once: 'a', 'b', 'c', 'd', 'e' and 2 more",
        ),
        ([[1, 2], ["*", "*"], [1, 2]], "level 2 must be a coarsening of level 1: it splits the groups '*'"),
    ],
)
def test_levels_that_are_refused(levels, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Hierarchy.from_levels(levels)


def holds(label, value):
    """Whether a label, read as a person reads it, says that a value is in the bin."""
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
    assert (
        ages.encode([0, 4, 5, 99, 100, -1, 17.0, 17.5, None, "17", True]).tolist()
        == [0, 0, 1, 19] + [-1] * 2 + [3] + [-1] * 4
    )


def test_intervals_of_large_whole_numbers_are_exact():
    values = [2**53 + i for i in range(4)]
    hierarchy = Hierarchy.intervals(values[0], values[0] + 4, widths=[2])
    assert hierarchy.domain == tuple(values)
    assert hierarchy.encode(values).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10, [], 1, "both"), "closed must be 'left' or 'right', got 'both'"),
        (
            (0, float("inf"), []),
            "low, high, step and widths must be whole, float or Decimal numbers of at most 1e+18, got inf",
        ),
        (
            (float("nan"), 10, []),
            "low, high, step and widths must be whole, float or Decimal numbers of at most 1e+18, got nan",
        ),
        (("0", 10, []), "low, high, step and widths must be whole, float or Decimal numbers of at most 1e+18, got '0'"),
        (
            (0, 10, [5, True]),
            "low, high, step and widths must be whole, float or Decimal numbers of at most 1e+18, got True",
        ),
        ((0, 10, [], 0), "step must be positive, got 0"),
        ((0, 10, [], -1), "step must be positive, got -1"),
        ((0, 10, [], 3), "high - low must be a positive multiple of step, got 0, 10 and 3"),
        ((10, 10, []), "high - low must be a positive multiple of step, got 10, 10 and 1"),
        ((10, 0, []), "high - low must be a positive multiple of step, got 10, 0 and 1"),
        ((0, 10, [5, 8]), "widths must nest, each a larger multiple of the one before: 5, 8"),
        ((0, 10, [5, 5]), "widths must nest, each a larger multiple of the one before: 5, 5"),
        ((0, 10, [3], 2), "widths must nest, each a larger multiple of the one before: 2, 3"),
    ],
)
def test_intervals_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Hierarchy.intervals(*arguments)


def test_intervals_take_any_real_number_or_refuse_it():
    """A fraction without end is refused with a sentence, not with an error of the arithmetic behind it."""
    with pytest.raises(ValueError, match="low, high, step and widths must be"):
        Hierarchy.intervals(0, 1, [], Fraction(1, 3))
    with pytest.raises(ValueError, match="low, high, step and widths must be"):
        Hierarchy.intervals(0, 10**400, [], 10**399)


def test_encode_tells_numbers_text_and_truth_apart():
    mixed = Hierarchy.from_levels([[17, "17", "07", True, None, 2.5]])
    assert mixed.encode([17, 17.0, "17", "07", True, None, 2.5, 7, 1, "None"]).tolist() == [
        0,
        0,
        1,
        2,
        3,
        4,
        5,
        -1,
        -1,
        -1,
    ]
    assert Hierarchy.flat(["true", "False"]).encode([True, False, 1]).tolist() == [0, 1, -1]
    assert CITIES.encode([]).tolist() == []


def test_with_numbers_reads_what_text_spells():
    text = Hierarchy.from_levels([["17", "018", "2.50", "x"], ["1", "1", "2", "2"], ["low", "low", "2", "2"]])
    numbers = text.with_numbers(int)
    assert numbers.domain == (17, 18, 2.5, "x")
    assert numbers.labels[1:] == ((1, 2), ("low", "2"))
    assert text.domain[0] == "17"
    assert [type(v) for v in Hierarchy.flat(["1", "2.0"]).with_numbers(int).domain] == [int, int]
    assert [type(v) for v in Hierarchy.flat(["1", "2.0"]).with_numbers(float).domain] == [float, float]
    # Labels that spell the same number stay the text they are, so that no two groups merge.
    assert Hierarchy.from_levels([["1", "2"], ["1", "01"]]).with_numbers(int).labels[1] == ("1", "01")
    with pytest.raises(ValueError, match=r"^the hierarchy must name each number once, spelled more than once: 7$"):
        Hierarchy.flat(["7", "07"]).with_numbers(int)


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


def test_intervals_keep_their_bins_when_they_are_extended():
    ages = Hierarchy.intervals(0, 10, [], 5).with_missing().with_root().with_numbers(float)
    assert ages.encode([3, 7.0, None, 11]).tolist() == [0, 1, 2, -1]
    assert ages.n_groups.tolist() == [3, 1]
