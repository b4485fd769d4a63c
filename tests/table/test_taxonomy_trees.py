"""Taxonomies: accepted trees and files, and refusals."""

import copy
import json
import pickle
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import pytest
from errors import refused
from strategies import cuts, renamed

from pymoo_anon.table import Hierarchy, Taxonomy

WORK = json.loads((files("pymoo_anon.datasets") / "taxonomies" / "workclass.json").read_text(encoding="utf-8"))
WORKCLASS = Taxonomy(WORK)
PAIRS = {
    "name": "root",
    "children": [{"name": f"pair{i}", "children": [{"name": "x"}, {"name": "y"}]} for i in range(6)],
}


def test_files_and_mappings_give_the_same(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(WORK), encoding="utf-8")
    given_tree = copy.deepcopy(WORK)
    for taxonomy in (Taxonomy.from_json(path), Taxonomy.from_json(str(path)), Taxonomy(given_tree)):
        assert taxonomy.levels() == WORKCLASS.levels()
        assert (taxonomy.name, taxonomy.leaves, taxonomy.n_cuts) == ("Any work class", WORKCLASS.leaves, 9)
    assert given_tree == WORK
    (tmp_path / "accents.json").write_text('{"name": "Île"}', encoding="utf-8")
    assert Taxonomy.from_json(tmp_path / "accents.json").name == "Île"


def test_bad_trees_are_refused(tmp_path):
    bad = tmp_path / "bad.json"

    def both(error, tree):
        bad.write_text(json.dumps(tree), encoding="utf-8")
        message = refused(error, lambda: Taxonomy(tree))
        assert refused(error, lambda: Taxonomy.from_json(bad)) == f"{bad}: {message}"
        return message

    twice = renamed(PAIRS, [*"abcdef", *"abcghi"])
    assert both(ValueError, twice) == "taxonomy must name each leaf once, given more than once: 'a', 'b', 'c'"
    many = {"name": "root", "children": [{"name": f"{i % 7}"} for i in range(14)]}
    assert both(ValueError, many) == (
        "taxonomy must name each leaf once, given more than once: '0', '1', '2', '3', '4' and 2 more"
    )
    lone = {"name": "root", "children": [{"name": "a"}, {"name": "only", "children": [{"name": "b"}]}]}
    assert both(ValueError, lone) == "taxonomy must have no inner node with one child, got 'only'"
    for tree in ("text", 5, None, ["a", "b"], {}, {"name": 5}, {"children": []}):
        assert both(TypeError, tree) == (f"taxonomy must be of nodes {{'name': text, 'children': [...]}}, got {tree!r}")
    assert both(TypeError, {"name": "root", "children": ["a", "b"]}) == (
        "taxonomy must be of nodes {'name': text, 'children': [...]}, got 'a'"
    )


@pytest.mark.parametrize("children", [5, True, "ab", {"a": 1, "b": 2}], ids=str)
def test_children_that_are_no_list_are_refused(children):
    message = refused(TypeError, lambda: Taxonomy({"name": "root", "children": children}))
    assert message.startswith("taxonomy must be of nodes {'name': text, 'children': [...]}, got ")


@pytest.mark.parametrize("children", [0, False, "", {}, ()], ids=repr)
def test_only_none_and_an_empty_list_are_no_children(children):
    tree = {"name": "root", "children": children}
    if children == ():
        assert Taxonomy(tree).leaves == ("root",)
    else:
        assert refused(TypeError, lambda: Taxonomy(tree)).endswith(f"got {{'children': {children!r}, 'name': 'root'}}")


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


def test_deep_files_are_refused_with_what_serves(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text('{"name": "a", "children": [' * 100_000, encoding="utf-8")
    message = f"{path} must be nested less deeply; Taxonomy(tree) takes trees of any depth"
    assert refused(ValueError, lambda: Taxonomy.from_json(path)) == message


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


def test_keys_of_a_node_are_name_children_and_comments(tmp_path):
    leaves = [{"name": "a", "size": 5, "note": "x"}, {"name": "b", "children": None}]
    assert Taxonomy({"name": "root", "children": leaves, "id": 1}).leaves == ("a", "b")
    for key, below in (("Children", leaves), ("child", leaves[0]), (1, ("a", "b"))):
        message = f"taxonomy must have nodes below 'root' under 'children' alone, got {key!r}"
        assert refused(ValueError, lambda key=key, below=below: Taxonomy({"name": "root", key: below})) == message
    path = tmp_path / "twice.json"
    path.write_text('{"name": "root", "children": [{"name": "a"}, {"name": "b"}], "children": []}', encoding="utf-8")
    message = f"{path} must be a JSON file: an object must name each key once, got more than once: 'children'"
    assert refused(ValueError, lambda: Taxonomy.from_json(path)) == message
    path.write_text('{"name": "a"} {"name": "b"}', encoding="utf-8")
    assert refused(ValueError, lambda: Taxonomy.from_json(path)).startswith(f"{path} must be a JSON file: Extra data")


def test_files_with_a_byte_order_mark_are_read(tmp_path):
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (tmp_path / "tree.json").write_text(json.dumps(WORK, ensure_ascii=False), encoding=encoding)
        assert Taxonomy.from_json(tmp_path / "tree.json").levels() == WORKCLASS.levels()


def test_bad_files_are_refused(tmp_path):
    bad = tmp_path / "bad.json"
    for text in ('{"name": ', "", "name;children"):
        bad.write_text(text, encoding="utf-8")
        assert refused(ValueError, lambda: Taxonomy.from_json(bad)).startswith(f"{bad} must be a JSON file: ")
    bad.write_bytes('{"name": "Île"}'.encode("latin-1"))
    assert refused(ValueError, lambda: Taxonomy.from_json(bad)).startswith(f"{bad} must be ")
    with pytest.raises(FileNotFoundError):
        Taxonomy.from_json(tmp_path / "none.json")


def test_groups_of_a_release_have_names_of_their_own():
    """Reject equal names, which merge in a release, unlike the search."""
    others = [{"name": "Other", "children": [{"name": f"{a}{i}"} for i in range(2)]} for a in "ab"]
    leaf_and_node = {
        "name": "root",
        "children": [{"name": "x"}, {"name": "x", "children": [{"name": "y"}, {"name": "z"}]}],
    }
    for tree in ({"name": "root", "children": others}, leaf_and_node):
        try:
            taxonomy = Taxonomy(tree)
        except ValueError:
            continue
        for cut in cuts(tree):
            labels = taxonomy.labels(np.array(cut))
            assert len(set(labels)) == len(labels)
        for groups in Hierarchy(taxonomy.levels()).groups:
            assert taxonomy.is_valid(np.diff(groups) != 0)
