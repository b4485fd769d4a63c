"""Files: read where they end, and written whole or not at all.

The folder of an output is tried before the work, and no output takes the place of an input.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None  # type: ignore[assignment]

#: A file that is read whole has at most so many bytes.
MOST = 250_000_000

# What is written to try the folder, in bytes: more than the files of a front take.
_TRIAL = 1 << 20

_PREFIX = ".pymoo_anon-"

# What the system says where a disk, or the share of a user, is full.
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def content_of(path: str | os.PathLike[str]) -> bytes:
    """What a file holds, of at most `MOST` bytes."""
    size = check_regular(path)
    if size > MOST:
        raise ValueError(f"{os.fspath(path)} must be a file of at most {MOST:,} bytes, got {size:,}; name another file")
    return Path(path).read_bytes()


def check_regular(path: str | os.PathLike[str]) -> int:
    """Refuse what may never end, such as a device or a pipe, and a folder; the size of the file."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        got = "a folder" if stat.S_ISDIR(found.st_mode) else "a device or a pipe"
        raise ValueError(f"{os.fspath(path)} must be a file, got {got}; name a file")
    return found.st_size


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write one file to: it takes its place at the end of the block, or, where the block fails, never.

    The folder of the file must exist.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is there; name a file", str(target))
    with _temporary(target.parent) as temporary:
        yield temporary / target.name
        os.replace(temporary / target.name, target)


@contextlib.contextmanager
def tried(folder: Path, names: Sequence[str], inputs: Sequence[Path] = (), own: bool = False) -> Iterator[Path]:
    """A temporary folder inside an output folder for files of these names; `put_in_place` moves them at the end.

    The output folder must exist. One of the command's own is made where it is missing, not the folders above it, and is
    removed again where nothing was put into it. Temporary folders that killed processes left in it are removed.
    """
    _check_targets(folder, names, inputs)
    made = own and not folder.exists()
    try:
        with _said(folder):
            if own:
                folder.mkdir(exist_ok=True)
            _remove_abandoned(folder)
        with _temporary(folder) as temporary:
            with _said(folder):
                trial = temporary / "trial"
                trial.write_bytes(bytes(_TRIAL))
                trial.unlink()
            yield temporary
    finally:
        if made:
            # Nothing is put into a folder only by a command that failed: one that holds files stays.
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """An empty folder inside another one, for as long as a block lasts."""
    with _said(folder):
        temporary = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{_host()}-{os.getpid()}-", dir=folder))
    try:
        yield temporary
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _cannot(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _said(folder: Path) -> Iterator[None]:
    """What the system refuses is said of the folder, with what to do."""
    try:
        yield
    except OSError as error:
        raise _cannot(folder, error) from error


def _cannot(folder: Path, error: OSError) -> OSError:
    """The error of a folder that cannot be written to."""
    # What was written in a folder inside this one is said of this one.
    while isinstance(error.__cause__, OSError):
        error = error.__cause__
    hint = "name another folder"
    if error.errno in _FULL:
        hint = f"make room there, or {hint}"
    elif error.errno == errno.ENOENT:
        missing = next((path for path in (*reversed(folder.parents), folder) if not path.exists()), folder)
        hint = f"make the folder {missing} first, or {hint}"
    return OSError(error.errno, f"nothing can be written there: {error.strerror}; {hint}", str(folder))


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other searches out of an output folder, for as long as this one lasts.

    The system takes the lock away with the process, so that one that was killed leaves none behind. Where the system or
    the folder knows no locks, nothing is kept out.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"output must be a folder that no other search writes to, got {str(folder)!r}; wait for its end, or "
                "name another folder"
            ) from None
        except OSError:
            # A shared folder without locks.
            pass
        yield
    finally:
        os.close(handle)


def put_in_place(new: Path, folder: Path, names: Sequence[str]) -> list[Path]:
    """Move new files into the output folder, all of them or, on any failure and on Ctrl-C, none.

    At every moment each name stands for a whole file, the old or the new one.

    Returns:
        The paths of the files.
    """
    made = [path for path in dict.fromkeys((folder / name).parent for name in names) if not path.exists()]
    old = Path(tempfile.mkdtemp(dir=new))
    held = [name for name in names if os.path.lexists(folder / name)]
    for name in held:
        (old / name).parent.mkdir(exist_ok=True)
        shutil.copy2(folder / name, old / name, follow_symlinks=False)
    moved: list[str] = []
    try:
        for path in made:
            path.mkdir()
        for name in names:
            moved.append(name)
            os.replace(new / name, folder / name)
    except BaseException:
        for name in moved:
            if name in held:
                os.replace(old / name, folder / name)
            elif not (new / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
    return [folder / name for name in names]


def _check_targets(folder: Path, names: Sequence[str], inputs: Sequence[Path]) -> None:
    """Refuse an output folder where a file would take the place of something else."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output must be a folder, got {str(folder)!r}, which is a file; name another folder")
    for target in [folder / name for name in names]:
        if target.is_dir():
            raise ValueError(f"output must not be written to {target}, where a folder is; name another place")
        if target.exists() and any(path.exists() and target.samefile(path) for path in inputs):
            raise ValueError(f"output must not take the place of {target}, which is read; name another place")


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary folders of commands on this machine whose process has ended."""
    pattern = re.compile(re.escape(f"{_PREFIX}{_host()}-") + r"(\d+)-[a-z0-9_]{8}")
    for path in folder.iterdir():
        found = pattern.fullmatch(path.name)
        if found and path.is_dir() and not path.is_symlink() and _has_ended(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _has_ended(process: int) -> bool:
    """Whether no process has this number any more; unknown, and so no, on Windows, where asking may end it."""
    if os.name == "nt":
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        # It lives and belongs to somebody else.
        pass
    return False


def _host() -> str:
    """The name of this machine, as far as it can stand in the name of a file: folders may be shared by several."""
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())
