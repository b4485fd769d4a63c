"""The verifier on deliberately damaged instances, fronts, results and certificates."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite import make as make_suite
from benchmarks.suite.make import support
from benchmarks.suite.tables import Table, skewed, widths
from pymoo_anon import suite
from pymoo_anon.suite.verify import check_folder, digest, faults

DATA = Path(suite.__file__).parent / "data"
NAME = "patients-k-GLM-v1"
CONSTRAINED = "census-l-GLM-DM-k5-s40-v1"
GROWN = "shops-trees-k-GLM-k3-l2-x11-v1"


class Files:
    """A copy of one instance's files, which may be damaged."""

    def __init__(self, folder, name=NAME, made=None):
        self.folder, self.name = folder, name
        self.instance = folder / "instances" / "json" / f"PymooAnon26_{name}.json"
        self.front = folder / "fronts" / f"{name}.csv"
        self.result = folder / "results" / f"PymooAnon26_{name}_result.json"
        self.certificate = folder / "certificates" / f"{name}.json"
        for path in (self.instance, self.front, self.result, self.certificate):
            path.parent.mkdir(parents=True)
            if made is None:
                shutil.copy(DATA / path.relative_to(folder), path)
        for place, text in made or ():
            (folder / place).write_text(text, encoding="utf-8", newline="\n")

    def edit(self, path, change):
        """Change the content of a JSON file."""
        read = json.loads(path.read_text())
        change(read)
        path.write_text(json.dumps(read))

    def renew(self):
        """Correct the hashes and numbers of the certificate, like a forger."""
        lines = self.front.read_text().splitlines()
        new = {
            "instance sha256": digest(self.instance),
            "front sha256": digest(self.front),
            "members": len(lines) - 1,
        }
        self.edit(self.certificate, lambda read: read.update(new))

    def edit_front(self, change):
        """Change the list of members, and update result and certificate."""
        header, *lines = self.front.read_text().splitlines()
        members = [[int(word) for word in line.split(",")] for line in lines]
        change(members)
        self.front.write_text("\n".join([header, *(",".join(map(str, own)) for own in members)]) + "\n")

        def follow(read):
            types = support(np.array([[-own[-2], own[-1]] for own in members]))
            read["points"] = [
                {"z1": own[-2], "z2": own[-1], "type": one} for own, one in zip(members, types, strict=True)
            ]
            read.update(card=len(members), suppCard=len(types) - types.count("us"), extCard=types.count("se"))

        self.edit(self.result, follow)
        self.renew()

    def edit_instance(self, change):
        """Change the instance, and update the certificate."""
        self.edit(self.instance, change)
        self.renew()

    def found(self):
        return faults(self.folder, self.name)[0]


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def shops():
    """Return a table with two taxonomies and one plain attribute. The town's tree has only a root."""
    rng, n = np.random.default_rng(2), 200
    rows = {"goods": skewed(rng, n, 6, 0.5), "town": skewed(rng, n, 3), "age": rng.integers(0, 4, n)}
    rows["reason"] = (rows["goods"] + skewed(rng, n, 4, 2)) % 4
    levels = {"goods": widths(6), "town": widths(3), "age": widths(4)}
    return Table(levels, rows, ("reason",), {"goods": [[0, 5], [0, 3], [0, 1], [4, 5]], "town": [[0, 2]]})


@pytest.fixture(scope="module")
def made():
    """Return the files of a small instance with taxonomies and `violating`."""
    wanted = {"table": "shops", "objectives": ["k", "GLM"], "space": "bits", "limit": 11, "rule": "violating"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(make_suite.TABLES, "shops", shops)
        patch.setitem(make_suite.WANTED, GROWN, {**wanted, "constraints": {"k": 3, "l:reason": 2}})
        return list(make_suite.files_of(GROWN))


@pytest.fixture
def grown(tmp_path, made):
    return Files(tmp_path, GROWN, made)


def put(*path, value):
    """Return a change that sets one entry."""

    def change(read):
        for step in path[:-1]:
            read = read[step]
        read[path[-1]] = value(read[path[-1]]) if callable(value) else value

    return change


def one_person_moves(read):
    read["counts"][0] += 1
    read["counts"][-1] += 1


def a_row_is_split(read):
    for values in (*read["rows"].values(), *read["columns"].values()):
        values.append(values[0])
    read["counts"].append(1)


def better_by_one(members):
    members[3][-1] -= 1


def another_point(members):
    members[3][0] += -1 if members[3][0] else 1


def types_change_places(read):
    first, second = read["points"][:2]
    first["type"], second["type"] = second["type"], first["type"]


INSTANCES = {
    "a person more": (one_person_moves, "has the values"),
    "a row twice": (a_row_is_split, "a row is there twice"),
    "a row of nobody": (put("counts", 0, value=0), "a row counts nobody"),
    "a value outside": (put("rows", "age", 0, value=90), "a row holds a value that is not in its domain"),
    "levels that split": (
        put("attributes", 0, "levels", 2, value=lambda level: [*level[:-1], 0]),
        "a level of age does not merge the groups of the level below",
    ),
    "levels without the values": (
        put("attributes", 0, "levels", 0, value=lambda level: [0, *level[:-1]]),
        "the first level of age is not its values",
    ),
    "more suppression": (put("suppression", "limit", value=200), "has the values"),
    "another objective": (put("objectives", 0, "measure", value="classes"), "has the values"),
    "another unit": (put("unit", value=lambda unit: unit + 1), "the unit does not make the loss whole"),
    "another name": (put("name", value="patients-k-GLM-v2"), "the instance has another name"),
}
FRONTS = {
    "a member left out": (lambda members: members.pop(5), "the front lacks a point with the values"),
    "the last member left out": (lambda members: members.pop(), "the front lacks a point with the values"),
    "a value too good": (better_by_one, "has the values"),
    "a value of another point": (another_point, "has the values"),
    "a member twice": (lambda members: members.append(members[0]), "is dominated or there twice"),
    "a dominated member": (lambda members: members.append([0, 0, 0, 0, 1, 1, 9**9]), "is dominated or there twice"),
    "a point outside": (lambda members: put(0, 0, value=-1)(members), "is no point"),
}
CERTIFICATES = {
    "hash of the instance": (put("instance sha256", value="0" * 64), "the hash of the instance"),
    "hash of the front": (put("front sha256", value="0" * 64), "the hash of the front"),
    "fewer points": (put("points", value=959), "the certificate's points must be 960"),
    "more members": (put("members", value=15), "the certificate's members must be 14"),
    "another name": (put("name", value="patients"), "the certificate's name must be"),
    "another proof": (put("proof", value="belief"), "no proof is called 'belief'"),
    "nothing evaluated": (put("evaluated", value=13), "number of evaluated points cannot be"),
    "more than all evaluated": (put("evaluated", value=961), "number of evaluated points cannot be"),
    "not all evaluated": (put("proof", value="exhaustive"), "number of evaluated points cannot be"),
    "no hash": (lambda read: read.pop("front sha256"), "its files cannot be read: KeyError: 'front sha256'"),
}
RESULTS = {
    "a value": (put("points", 2, "z1", value=7777), "the result's points are not those of the front"),
    "types": (types_change_places, "the result's types are not those of its points"),
    "a direction": (put("direction", 0, value="min"), "the result's direction must be"),
    "the number": (put("card", value=13), "the result's card must be 14"),
    "the number of supported ones": (put("suppCard", value=9), "the result's suppCard must be"),
    "no proof": (put("optimal", value=False), "the result's optimal must be True"),
    "another instance": (put("instanceName", value="PymooAnon26_x"), "the result's instanceName must be"),
}


NO_TREE = "the nodes of goods are no tree over its values"
GROWN_INSTANCES = {
    "a node less": (
        lambda read: read["attributes"][0]["nodes"].remove([4, 5]),
        "is no point: no cut of the taxonomy of goods",
    ),
    "a node more": (lambda read: read["attributes"][0]["nodes"].append([2, 3]), "the certificate's points must be 176"),
    "no taxonomy": (lambda read: read["attributes"][1].pop("nodes"), "the certificate's points must be 224"),
    "nodes that cross": (put("attributes", 0, "nodes", 1, value=[1, 4]), NO_TREE),
    "no root": (lambda read: read["attributes"][0]["nodes"].pop(0), NO_TREE),
    "a node twice": (put("attributes", 0, "nodes", 2, value=[0, 3]), NO_TREE),
    "a node of one value": (put("attributes", 0, "nodes", 2, value=[1, 1]), NO_TREE),
    "a node that ends before it begins": (put("attributes", 0, "nodes", 2, value=[3, 1]), NO_TREE),
    "a node outside": (put("attributes", 0, "nodes", 2, value=[0, 6]), NO_TREE),
    "a value below 0": (put("columns", "reason", 3, value=-1), "a row holds a value that is not in its domain"),
    "more persons than can be counted": (put("counts", 0, value=2**70), "its files cannot be read: OverflowError"),
    "another k": (put("constraints", 0, "at least", value=4), "has the values"),
    "another l": (put("constraints", 1, "at least", value=3), "has the values"),
    "fewer may be suppressed": (put("suppression", "limit", value=0), "breaks a constraint"),
    "more may be suppressed": (put("suppression", "limit", value=12), "the front lacks a point with the values"),
    "another rule": (put("suppression", "rule", value="at most"), "has the values"),
    "no rule": (put("suppression", "rule", value="none"), "no rule of suppression is called 'none'"),
    "no constraint on classes": (put("constraints", value=[]), "has the values"),
}


def no_cut(members):
    """Return bits of goods that part 0 from 1 to 3: no node."""
    members[2][:5] = [1, 0, 0, 1, 0]


GROWN_FRONTS = {
    "a member left out": (lambda members: members.pop(1), "the front lacks a point with the values"),
    "a value too good": (better_by_one, "has the values"),
    "a bit of two": (put(1, 8, value=2), "is no point"),
    "a string that is no cut": (no_cut, "is no point: no cut of the taxonomy of goods"),
}


def test_what_is_whole_holds(files):
    assert faults(files.folder, NAME, most=960) == ([], "14 members and all 960 points recounted")
    assert faults(files.folder, NAME, most=959) == ([], "14 members recounted")
    files.renew()
    files.edit_front(lambda members: None)
    assert files.found() == []


def test_line_ends_do_not_count(files):
    for path in (files.instance, files.front):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert files.found() == []


def test_taxonomies_and_violated_constraints_hold(grown):
    sentences, recounted = faults(grown.folder, GROWN)
    assert sentences == []
    assert re.fullmatch(r"\d+ members and all 112 points recounted", recounted)


#: The damages by instance and kind of edit.
DAMAGES = {
    ("files", "edit_instance"): INSTANCES,
    ("files", "edit_front"): FRONTS,
    ("grown", "edit_instance"): GROWN_INSTANCES,
    ("grown", "edit_front"): GROWN_FRONTS,
}


@pytest.mark.parametrize(("which", "damage"), [(which, damage) for which in DAMAGES for damage in DAMAGES[which]])
def test_damaged_instances_and_fronts_are_found(request, which, damage):
    change, message = DAMAGES[which][damage]
    files = request.getfixturevalue(which[0])
    getattr(files, which[1])(change)
    found = files.found()
    assert any(message in one for one in found)
    assert not any("hash" in one for one in found)


def test_taxonomies_beside_levels_are_found(files):
    files.edit_instance(lambda read: read["attributes"][0].update(nodes=[[0, 89]]))
    assert "the nodes of age are no tree over its values" in files.found()


@pytest.mark.parametrize("damage", CERTIFICATES)
def test_damaged_certificates_are_found(files, damage):
    change, message = CERTIFICATES[damage]
    files.edit(files.certificate, change)
    assert any(message in found for found in files.found())


@pytest.mark.parametrize("damage", RESULTS)
def test_damaged_results_are_found(files, damage):
    change, message = RESULTS[damage]
    files.edit(files.result, change)
    (found,) = files.found()
    assert message in found


@pytest.mark.parametrize("name", ["instance", "front"])
def test_what_was_edited_by_hand_has_another_hash(files, name):
    path = getattr(files, name)
    path.write_text(path.read_text().replace("age", "Age"))
    assert f"the hash of the {name} is not the certificate's" in files.found()


@pytest.mark.parametrize("name", ["instance", "front", "result", "certificate"])
def test_missing_files_are_found(files, name, capsys):
    getattr(files, name).unlink()
    assert check_folder([str(files.folder)]) == 1
    assert "FAULT: its files cannot be read" in capsys.readouterr().out


def test_an_empty_folder_does_not_hold(tmp_path):
    assert check_folder([str(tmp_path)]) == 1


def test_broken_constraints_are_found(tmp_path):
    files = Files(tmp_path, CONSTRAINED)
    assert faults(tmp_path, CONSTRAINED, most=0)[0] == []
    files.edit_instance(put("constraints", 0, "at least", value=20))
    assert any("breaks a constraint" in found for found in faults(tmp_path, CONSTRAINED, most=0)[0])


def test_a_fault_ends_with_1_and_names_the_instance(files, capsys):
    files.edit_front(better_by_one)
    assert check_folder([str(files.folder), NAME]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{NAME}: FAULT: [")
    assert last == "1 with faults"
