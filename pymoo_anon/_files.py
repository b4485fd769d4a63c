"""Files: read where they end, and written whole or not at all.

The folder of an output is tried before the work, and no output replaces an input.
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

#: Most bytes of a file that is read whole.
MOST = 250_000_000

# Bytes of a trial file, more than a front takes: a disk that is full is met before the work.
_TRIAL = 1 << 20

_PREFIX = ".pymoo_anon-"

#: Errors of a full disk or quota.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file of at most `MOST` bytes."""
    size = check_regular(path)
    if size > MOST:
        raise ValueError(f"{os.fspath(path)} must be a file of at most {MOST:,} bytes, got {size:,}; name another file")
    return Path(path).read_bytes()


def check_regular(path: str | os.PathLike[str]) -> int:
    """Return the size of a file, or raise for folders, devices and pipes."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        got = "a folder" if stat.S_ISDIR(found.st_mode) else "a device or a pipe"
        raise ValueError(f"{os.fspath(path)} must be a file, got {got}; name a file")
    return found.st_size


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces a file if the block succeeds. Its folder must exist."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is there; name a file", str(target))
    with _temporary(target.parent) as temporary:
        yield temporary / target.name
        os.replace(temporary / target.name, target)


@contextlib.contextmanager
def tried(folder: Path, names: Sequence[str], inputs: Sequence[Path] = (), own: bool = False) -> Iterator[Path]:
    """Yield a temporary folder inside a writable output folder.

    A missing folder that is the command's `own` is made, and removed again if it stays empty. No output may replace one
    of the `inputs`. Temporary folders of killed processes are removed.
    """
    _check_targets(folder, names, inputs)
    made = own and not folder.exists()
    try:
        with _named(folder):
            if own:
                folder.mkdir(exist_ok=True)
            _remove_abandoned(folder)
        with _temporary(folder) as temporary:
            with _named(folder):
                trial = temporary / "trial"
                trial.write_bytes(bytes(_TRIAL))
                trial.unlink()
            yield temporary
    finally:
        if made:
            # A folder that holds files stays.
            with contextlib.suppress(OSError):
                folder.rmdir()


def check_free(targets: Sequence[Path], force: bool, hint: str = "") -> None:
    """Raise ValueError if a file exists, unless `force` allows to replace it."""
    held = [str(target) for target in targets if os.path.lexists(target)]
    if held and not force:
        raise ValueError(f"{held[0]} exists; --force replaces it, --output names another place{hint}")


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    with _named(folder):
        temporary = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{_host()}-{os.getpid()}-", dir=folder))
    try:
        yield temporary
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turn an OSError into one that names the folder and a remedy."""
    try:
        yield
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> OSError:
    # The cause has the words of the system, without those of an inner folder.
    while isinstance(error.__cause__, OSError):
        error = error.__cause__
    hint = "name another folder"
    if error.errno in FULL:
        hint = f"make room there, or {hint}"
    elif error.errno == errno.ENOENT:
        missing = next((path for path in (*reversed(folder.parents), folder) if not path.exists()), folder)
        hint = f"make the folder {missing} first, or {hint}"
    # The folder of the process would be a mere dot.
    place = str(folder if folder.name else folder.absolute())
    return OSError(error.errno, f"nothing can be written there: {error.strerror}; {hint}", place)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock an output folder against other searches. Without locks, as on some shared folders, it does nothing."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another search writes to the folder {str(folder)!r}; wait for its end, or name another folder by "
                "--output"
            ) from None
        except OSError:
            # A shared folder without locks.
            pass
        yield
    finally:
        os.close(handle)


def _check_targets(folder: Path, names: Sequence[str], inputs: Sequence[Path]) -> None:
    targets = [folder / name for name in names]
    for place in (folder, *(target.parent for target in targets)):
        if place.exists() and not place.is_dir():
            raise ValueError(f"output must be a folder, got {str(place)!r}, which is a file; name another folder")
    for target in targets:
        if target.is_dir():
            raise ValueError(f"output must not be written to {target}, where a folder is; name another place")
        if target.exists() and any(path.exists() and target.samefile(path) for path in inputs):
            raise ValueError(f"output must not replace {target}, which is read; name another place")


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary folders of processes on this machine that have ended."""
    pattern = re.compile(re.escape(f"{_PREFIX}{_host()}-") + r"(\d+)-[a-z0-9_]{8}")
    for path in folder.iterdir():
        found = pattern.fullmatch(path.name)
        if found and path.is_dir() and not path.is_symlink() and _has_ended(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _has_ended(process: int) -> bool:
    # On Windows this question could end the process.
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
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())
