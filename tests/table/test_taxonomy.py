"""Taxonomies: cuts against every cut written out, accepted trees and files, and hierarchies in delimited text."""

import copy
import csv
import io
import json
import pickle
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from errors import refused
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import cuts, every_string, grown, level_columns, trees

from pymoo_anon.table import Hierarchy, Microdata, Taxonomy
from pymoo_anon.table.delimited import SEPARATORS, csv_rows, decoded, separator_of
from pymoo_anon.table.taxonomy import closest_cuts

PACKAGED = {"workclass": (8, 9), "education": (16, 46), "marital-status": (7, 11), "native-country": (41, 4135)}


@cache
def packaged(name):
    return json.loads((files("pymoo_anon.datasets") / "taxonomies" / f"{name}.json").read_text(encoding="utf-8"))


def flat(n, name="root"):
    return {"name": name, "children": [{"name": f"{name}{i}"} for i in range(n)]}


WORK = packaged("workclass")
WORKCLASS = Taxonomy(WORK)
CHAIN = grown(lambda low, high: low, 12)  # one leaf, and the rest as the other child, eleven times
PAIRS = {"name": "root", "children": [flat(2, f"pair{i}") for i in range(6)]}


def nodes(tree, first=0):
    """Return name, depth, leaf range and kind of every node in preorder."""
    found, at = [], first
    for child in tree.get("children", []):
        below = nodes(child, at)
        found += [(name, depth + 1, *rest) for name, depth, *rest in below]
        at = below[0][3]
    return [(tree["name"], 0, first, max(at, first + 1), not tree.get("children")), *found]


def n_tilings(tree):
    """Count the node sequences that cover all leaves, from left to right."""
    spans = [(first, last) for _, _, first, last, _ in nodes(tree)]
    ways = {0: 1}
    for end in range(1, spans[0][1] + 1):
        ways[end] = sum(ways[first] for first, last in spans if last == end)
    return ways[spans[0][1]]


def nearest(tree, strings):
    """Return all cuts, and a mask of those nearest to each string."""
    every = np.array(cuts(tree), dtype=bool)
    distances = (strings[:, None] != every).sum(axis=2)
    return every, distances == distances.min(axis=1, keepdims=True)


def assert_alike(counts, n_kinds):
    """Check that chi-square stays far below its one-in-a-million quantile."""
    assert len(counts) == n_kinds
    counts = np.array(list(counts))
    mean = counts.sum() / n_kinds
    df = n_kinds - 1
    assert ((counts - mean) ** 2 / mean).sum() < df + 6 * np.sqrt(2 * df) + 12


@given(trees(max_leaves=9))
def test_cuts_are_counted_checked_and_found_as_by_hand(tree):
    taxonomy, every = Taxonomy(tree), cuts(tree)
    assert taxonomy.n_cuts == len(every) == len(set(every)) == n_tilings(tree)
    strings = every_string(taxonomy.n_bits)
    valid = taxonomy.is_valid(strings)
    assert valid.dtype == bool
    assert [tuple(bits) for bits in strings[valid]] == sorted(every, key=lambda cut: cut[::-1])
    for bits in (strings[0], strings[-1]):
        assert taxonomy.is_valid(bits) is True
    assert all(taxonomy.is_valid(bits) == ok for bits, ok in zip(strings[:32], valid[:32], strict=True))


@pytest.mark.parametrize("name", PACKAGED)
def test_the_packaged_trees_have_their_cuts(name):
    tree = packaged(name)
    taxonomy = Taxonomy(tree)
    n_leaves, n_cuts = PACKAGED[name]
    assert taxonomy.n_cuts == n_cuts == n_tilings(tree) == len(set(cuts(tree)))
    assert (len(taxonomy.leaves), taxonomy.n_bits) == (n_leaves, n_leaves - 1)
    assert taxonomy.is_valid(np.array(cuts(tree))).all()
    assert repr(taxonomy) == f"Taxonomy({tree['name']!r}, {n_leaves} leaves, {n_cuts} cuts)"
    if n_leaves <= 16:
        assert taxonomy.is_valid(every_string(n_leaves - 1)).sum() == n_cuts


def test_the_number_of_cuts_is_exact_however_large():
    pairs = {"name": "root", "children": [flat(2, f"pair {i}:") for i in range(400)]}
    taxonomy = Taxonomy(pairs)
    assert taxonomy.n_cuts == 2**400 + 1
    drawn = taxonomy.sample(50, np.random.default_rng(0))
    assert taxonomy.is_valid(drawn).all()
    # Pairs that stay together: half of them, and the root never.
    assert drawn[:, ::2].mean() == pytest.approx(0.5, abs=0.02)
    assert taxonomy.is_valid(taxonomy.closest(~drawn, np.random.default_rng(0))).all()


@given(trees(max_leaves=9))
@example(WORK)
@example(packaged("marital-status"))
@example(CHAIN)
@example(PAIRS)
@example(flat(12))
@example({"name": "only"})
def test_the_closest_cut_is_that_of_all_distances(tree):
    taxonomy = Taxonomy(tree)
    strings = every_string(taxonomy.n_bits)
    every, best = nearest(tree, strings)
    plain, drawn = taxonomy.closest(strings), taxonomy.closest(strings, np.random.default_rng(0))
    for found in (plain, drawn):
        assert found.dtype == bool
        chosen = (found[:, None] == every).all(axis=2)
        assert ((chosen & best).sum(axis=1) == 1).all()
    # Without a random state it is the most general one. It splits only where all nearest ones split.
    common = np.array([every[row].all(axis=0) for row in best])
    np.testing.assert_array_equal(plain, common)
    valid = taxonomy.is_valid(strings)
    np.testing.assert_array_equal(drawn[valid], strings[valid])


def test_the_closest_cut_is_the_most_general_of_however_many():
    """Tie 2^1101 cuts that split the root with the root itself."""
    n = 1101
    taxonomy = Taxonomy({"name": "root", "children": [flat(3, f"n{i}:") for i in range(n)]})
    # Each group of three is as near to being split as to being one, and the root, too.
    bits = np.tile([False, True, False], n)[:-1]
    bits[2::6] = True
    assert not taxonomy.closest(bits).any()
    drawn = taxonomy.closest(np.repeat(bits[None], 20, axis=0), np.random.default_rng(0))
    assert drawn[:, 2::3].all()
    assert drawn[:, ::3].mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("tree", [WORK, CHAIN, PAIRS, flat(5)], ids=lambda tree: tree["name"])
def test_all_nearest_cuts_are_equally_likely(tree):
    taxonomy = Taxonomy(tree)
    rng = np.random.default_rng(1)
    strings = every_string(taxonomy.n_bits)
    every, best = nearest(tree, strings)
    # Those with the most nearest cuts.
    for row in np.argsort(-best.sum(axis=1), kind="stable")[:12]:
        drawn = taxonomy.closest(np.repeat(strings[[row]], 3000, axis=0), rng)
        counts = (drawn[:, None] == every[best[row]]).all(axis=2).sum(axis=0)
        assert counts.sum() == 3000
        assert_alike(counts, best[row].sum())


@given(trees(min_leaves=2), st.integers(0, 2**32 - 1))
def test_one_string_or_many(tree, seed):
    taxonomy = Taxonomy(tree)
    strings = np.random.default_rng(seed).random((5, taxonomy.n_bits)) < 0.5
    strings.flags.writeable = False
    before = strings.copy()
    many = taxonomy.closest(strings)
    assert many.shape == strings.shape
    for bits, cut in zip(strings, many, strict=True):
        one = taxonomy.closest(bits)
        assert one.shape == bits.shape
        np.testing.assert_array_equal(one, cut)
        assert taxonomy.is_valid(bits) is bool(taxonomy.is_valid(bits[None])[0])
    np.testing.assert_array_equal(strings, before)
    np.testing.assert_array_equal(taxonomy.closest(strings[:, ::-1][:, ::-1]), many)
    np.testing.assert_array_equal(taxonomy.closest(np.asfortranarray(strings)), many)
    assert taxonomy.closest(strings[:0]).shape == (0, taxonomy.n_bits)
    assert taxonomy.is_valid(strings[:0]).shape == (0,)
    assert taxonomy.is_valid(before[0].tolist()) is taxonomy.is_valid(before[0])
    # Loops are compiled once for all kinds of arrays.
    assert len(closest_cuts.signatures) == 1


@pytest.mark.parametrize("tree", [WORK, CHAIN, PAIRS, packaged("education")], ids=lambda tree: tree["name"])
def test_every_cut_is_drawn_alike(tree):
    taxonomy = Taxonomy(tree)
    drawn = taxonomy.sample(20_000, np.random.default_rng(0))
    assert drawn.shape == (20_000, taxonomy.n_bits)
    assert drawn.dtype == bool
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(cut) for cut in found.tolist()} == set(cuts(tree))
    assert_alike(counts, taxonomy.n_cuts)
    np.testing.assert_array_equal(drawn, taxonomy.sample(20_000, np.random.default_rng(0)))


@given(trees())
def test_labels_name_the_leaves_below_them(tree):
    taxonomy = Taxonomy(tree)
    spans = {name: (first, last) for name, _, first, last, _ in nodes(tree)}
    for cut in cuts(tree)[:50]:
        edges = [0, *(i + 1 for i, bit in enumerate(cut) if bit), len(taxonomy.leaves)]
        assert [spans[label] for label in taxonomy.labels(np.array(cut, bool))] == list(pairwise(edges))


@given(trees())
def test_a_hierarchy_has_the_nodes_as_its_groups(tree):
    taxonomy = Taxonomy(tree)
    hierarchy = Hierarchy(taxonomy.levels())
    every = nodes(tree)
    assert hierarchy.domain == taxonomy.leaves == tuple(name for name, *_, leaf in every if leaf)
    assert hierarchy.length == max(depth for _, depth, *_ in every)
    assert hierarchy.labels[-1] == (tree["name"],)
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        # Each leaf's ancestor at that depth; itself where it is nearer to the root.
        depth = hierarchy.length - level
        for leaf, group in enumerate(groups):
            path = [node for node in every if node[2] <= leaf < node[3]]
            assert labels[group] == path[min(depth, len(path) - 1)][0]
        assert taxonomy.is_valid(np.diff(groups) != 0)
        assert taxonomy.labels(np.diff(groups) != 0) == labels


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_the_same(copied):
    strings = every_string(7)
    for original in (WORKCLASS, Taxonomy(WORK)):
        twin = copied(original)
        assert twin.levels() == original.levels()
        assert twin.n_cuts == 9
        rngs = np.random.default_rng(0), np.random.default_rng(0)
        np.testing.assert_array_equal(
            *(one.closest(strings, rng) for one, rng in zip((twin, original), rngs, strict=True))
        )


def test_files_and_mappings_give_the_same(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(WORK), encoding="utf-8")
    given_tree = copy.deepcopy(WORK)
    for taxonomy in (Taxonomy.from_json(path), Taxonomy.from_json(str(path)), Taxonomy(given_tree)):
        assert taxonomy.levels() == WORKCLASS.levels()
        assert (taxonomy.name, taxonomy.leaves, taxonomy.n_cuts) == ("Any work class", WORKCLASS.leaves, 9)
    assert given_tree == WORK
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        path.write_text('{"name": "Île"}', encoding=encoding)
        assert Taxonomy.from_json(path).name == "Île"


def deep(n, inner=None):
    """Build a tree of n levels with a leaf at each."""
    tree = {"name": "v0"} if inner is None else inner
    for level in range(1, n):
        tree = {"name": f"n{level}", "children": [tree, {"name": f"v{level}"}]}
    return tree


def test_trees_may_be_nested_deeply():
    taxonomy = Taxonomy(deep(5000))
    assert taxonomy.leaves == tuple(f"v{i}" for i in range(5000))
    assert taxonomy.n_cuts == 5000
    assert repr(taxonomy) == "Taxonomy('n4999', 5000 leaves, 5000 cuts)"
    drawn = taxonomy.sample(20, np.random.default_rng(0))
    assert taxonomy.is_valid(drawn).all()
    assert taxonomy.is_valid(taxonomy.closest(~drawn[:3])).all()
    for twin in (copy.deepcopy(taxonomy), pickle.loads(pickle.dumps(taxonomy))):
        assert (twin.leaves == taxonomy.leaves, twin.name) == (True, "n4999")
    some = Taxonomy(deep(300))
    assert Hierarchy(some.levels()).length == 299
    bad = refused(TypeError, lambda: Taxonomy(deep(5000, {"title": "v0"})))
    assert bad == "taxonomy must be of nodes {'name': text, 'children': [...]}, got {'title': 'v0'}"


class Grown(Mapping):
    """A node that makes its children anew at every access."""

    def __init__(self, name, depth):
        self.name, self.depth = name, depth

    def __getitem__(self, key):
        if key == "name":
            return self.name
        return [Grown(f"{self.name}{i}", self.depth - 1) for i in range(2)] if self.depth else []

    def __iter__(self):
        return iter(("name", "children"))

    def __len__(self):
        return 2


def test_nodes_may_be_any_mappings():
    taxonomy = Taxonomy(Grown("n", 8))
    assert len(taxonomy.leaves) == 2**8
    assert taxonomy.leaves[:2] == ("n00000000", "n00000001")


def test_what_is_no_tree_is_refused():
    cyclic = {"name": "root", "children": [{"name": "leaf"}]}
    inner = {"name": "inner", "children": [{"name": "other"}, cyclic]}
    cyclic["children"].append(inner)
    message = "taxonomy must be a tree, got the node 'root' below itself or in two places"
    assert refused(ValueError, lambda: Taxonomy(cyclic)) == message
    shared = {"name": "shared"}
    for i in range(60):  # 2^60 leaves, if they were all placed
        shared = {"name": f"shared{i}", "children": [shared, shared]}
    message = "taxonomy must be a tree, got the node 'shared' below itself or in two places"
    assert refused(ValueError, lambda: Taxonomy(shared)) == message
    del cyclic["children"]


def test_keys_of_a_node_are_name_children_and_comments():
    leaves = [{"name": "a", "size": 5, "note": "x"}, {"name": "b", "children": None}]
    assert Taxonomy({"name": "root", "children": leaves, "id": 1}).leaves == ("a", "b")
    assert Taxonomy({"name": "root", "children": ()}).leaves == ("root",)


FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=6)


@given(
    st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(FIELDS, min_size=n, max_size=n), min_size=1, max_size=8)),
    st.sampled_from(SEPARATORS),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_written_is_read(rows, separator, encoding):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    text = decoded(file.getvalue().encode(encoding), "it")
    assert text == file.getvalue()
    assert list(csv_rows(text, separator, "it")) == rows


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        # Decimal commas, and a list inside a field.
        ("age;weight\n30;70,5\n31;80,2\n", ";"),
        ("a;b;c\n1,5;2,5;3,5\n", ";"),
        ('a,b\n"1;2","3;4"\n', ","),
        # A comma in each of the first rows splits no other row.
        ("name;city, land\nAnn;Bonn, DE\nBob;Paris, FR\nEve;London\n", ";"),
        # Fitting rows count more than many fields.
        ("a;b,c,d\n1;2\n", ";"),
        # Blank lines do not count.
        ("a;b\n\n1;2\n\n", ";"),
        ("one\n", ","),
        ("", ","),
        ("a,b;c\n1,2;3\n", ","),
        # No separator fits: the one of the first row, so that the others can be named.
        ("a;b;c\n1;2\n", ";"),
        ("a,b\n1,2,\n", ","),
        ('a;b\n1;"2', ";"),
        ('a;b\n1;"' + "x" * 200_000, ";"),
    ],
)
def test_separators(text, separator):
    assert separator_of(text) == separator


CITIES = Hierarchy([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]])
# All of UTF-8 but the mark at the beginning of a file, NUL, and the signs of a header. Mark and NUL are no text.
texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufeff\0*lL") | st.sampled_from(';,\t"\n\r '), max_size=4
)


@st.composite
def text_hierarchies(draw):
    """Draw hierarchies of any text, with labels and missing values."""
    values = st.lists(texts.filter(bool) | st.none(), min_size=1, max_size=6, unique=True)
    domain, *levels = draw(level_columns(draw(values)))
    labels = draw(st.lists(texts.filter(bool), min_size=6, max_size=6, unique=True))
    groups = [list(dict.fromkeys(level)) for level in levels]
    names = [dict(zip(own, labels[: len(own)], strict=True)) for own in groups]
    return Hierarchy([domain, *([name[x] for x in level] for name, level in zip(names, levels, strict=True))])


@given(text_hierarchies())
@example(Hierarchy.flat(["with\rreturn", None]))
@example(Hierarchy.flat(["a", "b"]).with_missing())
@example(Hierarchy([[None]]))
@example(Hierarchy([["a", None, "b"], ["x", "", ""], ["*", "*", "*"]]))
@example(Hierarchy([["a,b", "c,d"]]))
@example(Hierarchy([["a\tb", "c;d"]]))
def test_csv_gives_back_what_was_written(tmp_path_factory, hierarchy):
    path = tmp_path_factory.getbasetemp() / "hierarchy.csv"
    assert hierarchy.to_csv(path) is None
    text = hierarchy.to_csv()
    assert path.read_bytes() == text.encode()
    assert Hierarchy.from_csv(path) == hierarchy
    assert Hierarchy.from_csv(io.StringIO(text, newline="")) == hierarchy
    assert path.read_bytes() == text.encode()


USUAL = "a;ab;*\nb;ab;*\nc;c;*\n"
CSV_FILES = {
    "usual": USUAL.encode(),
    "no last newline": b"a;ab;*\nb;ab;*\nc;c;*",
    "Windows": b"a;ab;*\r\nb;ab;*\r\nc;c;*\r\n",
    "old Macintosh": b"a;ab;*\rb;ab;*\rc;c;*\r",
    "empty lines at the end": b"a;ab;*\nb;ab;*\nc;c;*\n\n\n",
    "quotes": b'"a";ab;"*"\nb;"ab";*\nc;c;*\n',
    "comma": b"a,ab,*\nb,ab,*\nc,c,*\n",
    "tab": b"a\tab\t*\nb\tab\t*\nc\tc\t*\n",
    "comma and quotes": b'"a","ab","*"\n"b","ab","*"\n"c","c","*"\n',
    "header": b"city;level 1;level 2\na;ab;*\nb;ab;*\nc;c;*\n",
    "header that counts all": b"Level-0,LEVEL-1,level-2\na,ab,*\nb,ab,*\nc,c,*\n",
}
ENCODINGS = {
    "UTF-8 with mark": USUAL.encode("utf-8-sig"),
    "UTF-16": USUAL.encode("utf-16"),
    "UTF-16 big": b"\xfe\xff" + USUAL.encode("utf-16-be"),
}


def test_an_empty_first_field_is_what_is_missing():
    for text, levels in {
        "a;x;*\n;;*\n": [["a", None], ["x", None], ["*", "*"]],
        "a;x;*\nb;;*\n;;*\n": [["a", "b", None], ["x", "", ""], ["*", "*", "*"]],
        "a;x;*\n;unknown;*\n": [["a", None], ["x", "unknown"], ["*", "*"]],
        "a;;*\nb;;*\n": [["a", "b"], ["", ""], ["*", "*"]],
        'a\n""': [["a", None]],
    }.items():
        read = Hierarchy.from_csv(io.StringIO(text))
        assert read == Hierarchy(levels), text
        assert read.labels == Hierarchy(levels).labels
    assert Hierarchy.from_csv(io.StringIO("a;x;*\n;;*\n")) == Hierarchy([["a"], ["x"], ["*"]]).with_missing()


@pytest.mark.parametrize("text", ["17;x;*\n;;*\n", "17;17;*\n;;*\n", "17;x;*\n"])
@pytest.mark.parametrize("column", [[17, None], ["17", None], ["17", ""]])
def test_a_table_with_gaps_reads_a_file_with_a_row_for_them(text, column):
    """Keep numbers beside missing values, and read empty texts as missing.

    An empty text is missing only if no value is empty.
    """
    frame = pd.DataFrame({"age": pd.Series(column, dtype=object)})
    if "" in column and not text.endswith("\n;;*\n"):
        with pytest.raises(ValueError, match=r"got without a row there: ''$"):
            Microdata.from_frame(frame, {"age": Hierarchy.from_csv(io.StringIO(text))}, missing="keep")
        return
    table = Microdata.from_frame(frame, {"age": Hierarchy.from_csv(io.StringIO(text))}, missing="keep")
    hierarchy = table.quasi_identifiers["age"]
    assert table.tuples.codes.tolist() == [[0], [1]]
    assert hierarchy.domain == (column[0], None)
    assert hierarchy.labels[1][1] is None
    assert hierarchy.n_groups.tolist() == [2, 2, 1]
    if text.startswith("17;17"):
        assert hierarchy.labels[1][0] == column[0]


@pytest.mark.parametrize("kind", [*CSV_FILES, *ENCODINGS])
def test_csv_files_of_other_tools_are_read(tmp_path, kind):
    path, data = tmp_path / "cities.csv", {**CSV_FILES, **ENCODINGS}[kind]
    path.write_bytes(data)
    assert Hierarchy.from_csv(path) == Hierarchy.from_csv(str(path)) == CITIES
    assert path.read_bytes() == data
    if kind in CSV_FILES:
        with path.open(encoding="utf-8", newline="") as file:
            assert Hierarchy.from_csv(file) == CITIES


def test_a_separator_within_labels_is_part_of_them():
    for text, levels in {
        "1,5;1,0–2,0;*\n2,5;2,0–3,0;*\n": [["1,5", "2,5"], ["1,0–2,0", "2,0–3,0"], ["*", "*"]],
        "a\tx, y\nb\tz\n": [["a", "b"], ["x, y", "z"]],
        'a,"x;y"\nb,z\n': [["a", "b"], ["x;y", "z"]],
        'a,x "y" z\n"b ""c""",y\n': [["a", 'b "c"'], ['x "y" z', "y"]],
        '"a;b"\n"c,d"\n': [["a;b", "c,d"]],
        "a\nb": [["a", "b"]],
        '5" pipe;*\n6" pipe;*\n': [['5" pipe', '6" pipe'], ["*", "*"]],
    }.items():
        assert Hierarchy.from_csv(io.StringIO(text)) == Hierarchy(levels), text


def test_a_first_row_that_may_be_a_value_is_one():
    # In the first two l1 and l2 are groups, and ? is a value of its own.
    groups = ("a;l1\nb;l2\n", "?;?;?\na;x;*\n", "a;x\nb;y\nc;y\n", "city;level 1;level 3\na;x;y\nb;y;y\n")
    for text in (*groups, "city;level 1\n", "a\n*\n"):
        assert Hierarchy.from_csv(io.StringIO(text)).domain[0] == re.split("[;\n]", text)[0]


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
    with pytest.raises((ValueError, OSError)):
        hierarchy.to_csv(path)
    assert [p.name for p in tmp_path.iterdir()] == ["cities.csv"]
    assert path.read_text() == "what was there"


def test_a_csv_in_another_encoding_is_refused_unless_it_is_opened_in_it(tmp_path):
    path = tmp_path / "h.csv"
    path.write_bytes("Bonn;*\r\nZürich;*\r\nNîmes;*\r\n".encode("cp1252"))
    message = (
        f"{path} must be text in UTF-8 or UTF-16, got the byte 0xfc in line 2, as in cp1252 (Western "
        "Europe), cp1250 (Central Europe), cp1254 (Turkey), cp932 (Japan) or gb18030 (China); save it as UTF-8"
    )
    assert refused(ValueError, lambda: Hierarchy.from_csv(path)) == message
    with open(path, encoding="cp1252") as file:
        assert Hierarchy.from_csv(file).domain == ("Bonn", "Zürich", "Nîmes")
    with open(path, encoding="utf-8") as file, pytest.raises(ValueError, match="must be open in the encoding that it"):
        Hierarchy.from_csv(file)
