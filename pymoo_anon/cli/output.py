"""The folder that a command writes to: tried before the work, changed as a whole or not at all, inputs untouched."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pymoo_anon.cli.names import FILES

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None  # type: ignore[assignment]

# What is written to try the folder, in bytes: more than the files of a front take.
_TRIAL = 1 << 20

_PREFIX = ".pymoo_anon-"


@contextlib.contextmanager
def tried(
    folder: Path, inputs: Sequence[Path], hierarchies: Path | None = None, names: Sequence[str] = FILES
) -> Iterator[Path]:
    """A temporary folder inside the output folder, for as long as a command lasts.

    The output folder is made where it does not exist, and is removed again where nothing was put into it. Temporary
    folders that killed commands left in it are removed.
    """
    _check_targets(folder, inputs, hierarchies, names)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    temporary = None
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(folder)
            temporary = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{_host()}-{os.getpid()}-", dir=folder))
            trial = temporary / "trial"
            trial.write_bytes(bytes(_TRIAL))
            trial.unlink()
        except OSError as error:
            raise OSError(error.errno, f"output cannot be written there: {error.strerror}", str(folder)) from None
        yield temporary
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        for path in made:
            # Nothing is put into a folder only by a search that failed: one that holds files stays.
            with contextlib.suppress(OSError):
                path.rmdir()


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


def check_free(targets: Sequence[Path], force: bool) -> None:
    """Refuse to replace what is there unasked."""
    held = [target for target in targets if target.exists()]
    if held and not force:
        raise ValueError(f"{held[0]} is there already; --force replaces it, --output names another file")


def put_in_place(new: Path, folder: Path, names: Sequence[str] = FILES) -> list[Path]:
    """Move new files into the output folder, all of them or, on any failure and on Ctrl-C, none.

    At every moment each name stands for a whole file, the old or the new one.

    Returns:
        The paths of the files.
    """
    old = new / "replaced"
    old.mkdir()
    made = [path for path in dict.fromkeys((folder / name).parent for name in names) if not path.exists()]
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


def _check_targets(folder: Path, inputs: Sequence[Path], hierarchies: Path | None, names: Sequence[str]) -> None:
    """Refuse an output folder where a file would take the place of something else."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output must be a folder, got {str(folder)!r}, which is a file")
    if hierarchies is not None and folder.exists() and folder.samefile(hierarchies):
        raise ValueError(
            f"output must not be the folder of the hierarchies, got {str(folder)!r}: the next search would read "
            f"{names[0]} as a hierarchy"
        )
    for target in [folder / name for name in names]:
        if target.is_dir():
            raise ValueError(f"output must be a folder where {target.name} is no folder, got {str(folder)!r}")
        if target.exists() and any(target.samefile(path) for path in inputs):
            raise ValueError(f"output must not be a folder where {target.name} is read, got {str(folder)!r}")


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
        return False
    return False


def _host() -> str:
    """The name of this machine, as far as it can stand in the name of a file: folders may be shared by several."""
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())
