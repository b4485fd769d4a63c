"""Files that are written whole or not at all.

They never replace an input, at any failure.
"""

import errno
import os
import re
from pathlib import Path

import pytest

from pymoo_anon._files import replaced, tried
from pymoo_anon.study.interrupt import put_in_place
from pymoo_anon.table import Hierarchy
from pymoo_anon.visualization.fronts import new_figure, saved

NAMES = ["a.txt", "b.txt", "deep/c.txt"]
FULL = OSError(errno.ENOSPC, "No space left on device")


def write(folder, names=NAMES, inputs=()):
    """Write files as every command does."""
    with tried(folder, names, inputs, own=True) as temporary:
        for name in names:
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_text("new")
        return put_in_place(temporary, folder, names)


def files(folder):
    """Return the texts of all files below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def old(folder):
    (folder / "deep").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text("old")


def test_old_files_are_replaced_and_others_stay(tmp_path):
    old(tmp_path)
    (tmp_path / "notes.txt").write_text("old")
    assert write(tmp_path) == [tmp_path / name for name in NAMES]
    assert files(tmp_path) == {**dict.fromkeys(map(str, map(Path, NAMES)), "new"), "notes.txt": "old"}
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt", "deep", "notes.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), FULL])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("place", range(len(NAMES)))
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_at_any_move_leaves_whole_files_and_the_last_one_as_it_was(
    tmp_path, monkeypatch, error, moment, place, existing
):
    folder, replace, failed = tmp_path / "front", os.replace, []
    if existing:
        old(folder)

    def fail_once(source, target):
        if target == folder / NAMES[place] and not failed:
            failed.append(target)
            # Every name belongs to a whole file at this moment, too.
            assert existing <= target.is_file()
            if moment == "after":
                replace(source, target)
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write(folder)
    assert failed
    n_moved = place + (moment == "after")
    expected = dict.fromkeys(NAMES, "old") if existing else {}
    expected |= dict.fromkeys(NAMES[:n_moved], "new")
    assert files(tmp_path) == {f"front/{name}": text for name, text in expected.items()}
    assert existing or n_moved or os.listdir(tmp_path) == []


@pytest.mark.parametrize(("own", "place", "missing"), [(False, "a", "a"), (False, "a/b", "a"), (True, "a/b", "a")])
def test_a_missing_folder_is_made_only_by_whom_it_belongs_to(tmp_path, own, place, missing):
    hint = rf"make the folder {re.escape(str(tmp_path / missing))} first, or name another folder"
    with pytest.raises(OSError, match=hint), tried(tmp_path / place, ["x"], own=own):
        pytest.fail("it goes on")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_comes_in_the_way_of_a_file_is_left_alone(tmp_path):
    with tried(tmp_path, ["a", "b"]) as temporary:
        for name in ("a", "b"):
            (temporary / name).write_text("new")
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "mine.txt").write_text("mine")
        with pytest.raises(OSError, match="b"):
            put_in_place(temporary, tmp_path, ["a", "b"])
    assert files(tmp_path) == {"a": "new", "b/mine.txt": "mine"}


@pytest.mark.parametrize("name", ["plain.txt", "replaced", "trial"])
def test_one_file_takes_its_place_at_the_end(tmp_path, name):
    target = tmp_path / name
    target.write_text("old")
    with replaced(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert files(tmp_path) == {name: "new"}
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), FULL, ValueError("no number")])
def test_one_file_is_left_alone_where_its_block_fails(tmp_path, error):
    target = tmp_path / "one.txt"
    target.write_text("old")

    def begin():
        with replaced(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(type(error)):
        begin()
    assert files(tmp_path) == {"one.txt": "old"}


def test_a_full_disk_says_where_and_what_to_do(tmp_path):
    with pytest.raises(OSError, match="make room there, or name another folder") as caught, tried(tmp_path, ["a"]):
        raise FULL
    assert (caught.value.filename, caught.value.errno) == (str(tmp_path), errno.ENOSPC)


#: Every writer of the package that takes a path.
WRITERS = {
    "picture": lambda path: saved(new_figure(2, 2), path),
    "hierarchy": lambda path: Hierarchy.flat(["a", "b"]).to_csv(path),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("step", ["os.replace", "tempfile.mkdtemp"])
def test_every_writer_leaves_the_old_file_on_a_full_disk(tmp_path, monkeypatch, writer, step):
    def full(*args, **kwargs):
        raise FULL

    target = tmp_path / "made"
    target.write_text("old")
    monkeypatch.setattr(step, full)
    with pytest.raises(OSError, match="No space left"):
        WRITERS[writer](target)
    assert files(tmp_path) == {"made": "old"}
    monkeypatch.undo()
    WRITERS[writer](target)
    assert target.read_bytes()[:3] != b"old"
    nowhere = tmp_path / "nowhere"
    with pytest.raises(OSError, match=f"make the folder {re.escape(str(nowhere))} first, or name another folder"):
        WRITERS[writer](nowhere / "made")


def links(target, folder):
    """Yield other paths of the same file."""
    yield target
    yield folder / "." / target.name
    for name, link in (("soft", os.symlink), ("hard", os.link)):
        link(target, folder / name)
        yield folder / name


def test_no_input_is_overwritten_whatever_it_is_called(tmp_path):
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "mine.csv").write_text("mine")
    n_tried = 0
    for path in links(inputs / "mine.csv", inputs):
        with pytest.raises(ValueError, match="is read"):
            write(path.parent, [path.name], [inputs / "mine.csv"])
        with pytest.raises(ValueError, match="is read"):
            write(inputs, ["mine.csv"], [path])
        n_tried += 1
    (tmp_path / "same").symlink_to(inputs, target_is_directory=True)
    with pytest.raises(ValueError, match="is read"):
        write(tmp_path / "same", ["mine.csv"], [inputs / "mine.csv"])
    assert n_tried == 4
    assert set(files(inputs).values()) == {"mine"}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is written by root")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o500)
    with pytest.raises(OSError, match="Permission denied; name another folder"):
        write(folder)
    with pytest.raises(OSError, match="Permission denied; name another folder"):
        saved(new_figure(2, 2), folder / "made.png")
