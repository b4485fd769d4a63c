"""Searches that go on where their process was killed: a journal on disk of what a problem has evaluated.

A search that is begun again with the same seed and with `resume` runs as it ran before, and finds what was evaluated in
the journal: its result is that of a search that was never killed. No algorithm measures a point twice, and
`BranchAndBound` learns nothing twice, too.

A file is a head, which says of which search it is, and records behind it. Each record holds points, their numbers and a
checksum, and is written at once. What a killed process wrote by half is the end of the file, and is cut off.

>>> import tempfile
>>> from pymoo_anon.datasets import make_census
>>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
>>> from pymoo_anon.problems import LatticeProblem
>>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
>>> again = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
>>> with tempfile.TemporaryDirectory() as folder:
...     with journaled(problem, f"{folder}/search.journal", settings={"seed": 1}):
...         F = problem.evaluate(problem.nodes(0, 3))
...     with journaled(again, f"{folder}/search.journal", settings={"seed": 1}, resume=True):
...         again.n_unique
3
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.problems.base import AnonymizationProblem

Matrix = NDArray[np.float64]

_MAGIC = b"pymoo_anon journal 1\n"

# Kind of a record, number of points, bytes of a point, numbers in the record, checksum of all of this and the rest.
_FRAME = struct.Struct("<BIIII")

#: Kinds of records: the measured values of points, and what a proof learned from the classes of a node.
VALUES, LESSON = 1, 2


class Record(NamedTuple):
    """A record of a journal: its kind, the bytes of every x, and an (n,) float array."""

    kind: int
    keys: list[bytes]
    numbers: NDArray[np.float64]


class Journal:
    """A file to which a search appends what it evaluates; it appears with the first record.

    Args:
        path: The file.
        identity: What tells one search from another, in ASCII: a file with another one is never read.

    Attributes:
        path: The file.
        lessons: What an earlier process learned at nodes, by the bytes of x.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str) -> None:
        self.path = Path(path)
        self.lessons: dict[bytes, Matrix] = {}
        self._head = _MAGIC + identity.encode("ascii") + b"\n"
        # Bytes of the file that are known to be whole, or None where it is to begin anew.
        self._whole: int | None = None
        self._file: int | None = None

    def check_replaceable(self) -> None:
        """Refuse a file in the journal's place that is something else: the first record would take its place.

        Raises:
            ValueError: It is.
            OSError: It cannot be read.
        """
        with self.path.open("rb") as file:
            if not _MAGIC.startswith(head := file.read(len(_MAGIC))):
                raise ValueError(f"{self.path} is no journal of a search, got {head!r:.30} at its beginning")

    def records(self) -> Iterator[Record]:
        """The records of an earlier process, up to the first that is not whole; later ones are appended behind them.

        Raises:
            ValueError: The file is of another search.
            OSError: It cannot be read.
        """
        with self.path.open("rb") as file:
            head = file.read(len(self._head))
            if not self._head.startswith(head):
                raise ValueError(f"{self.path} is of another search")
            whole = len(head) if head == self._head else 0
            while whole and (found := _read_record(file)) is not None:
                record, size = found
                yield record
                whole += size
        self._whole = whole or None

    def append(self, kind: int, keys: Sequence[bytes], numbers: NDArray[np.float64]) -> None:
        """Write a record, whole or not at all.

        Args:
            kind: `VALUES` or `LESSON`.
            keys: The bytes of one or more x.
            numbers: Float array of any shape.

        Raises:
            OSError: It cannot be written.
        """
        body = b"".join(keys) + np.ascontiguousarray(numbers, dtype="<f8").tobytes()
        sizes = (kind, len(keys), len(keys[0]), numbers.size)
        record = _FRAME.pack(*sizes, _checksum(sizes, body)) + body
        if self._file is None:
            self._open()
        assert self._file is not None
        before = os.fstat(self._file).st_size
        try:
            left = memoryview(record)
            while left:
                left = left[os.write(self._file, left) :]
        except BaseException as error:
            os.ftruncate(self._file, before)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise

    def remember(self, keys: Sequence[bytes], numbers: NDArray[np.float64]) -> None:
        """Write the measured values of points.

        Args:
            keys: The bytes of one or more x.
            numbers: Float array, the values point after point.

        Raises:
            OSError: It cannot be written.
        """
        self.append(VALUES, keys, numbers)

    def _open(self) -> None:
        """Open the file behind its last whole record, or begin it anew."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        if self._whole is None:
            # Anew, and not in the file that another process may have open.
            self.path.unlink(missing_ok=True)
        self._file = os.open(self.path, flags, 0o600)
        if self._whole is None:
            os.write(self._file, self._head)
        else:
            os.ftruncate(self._file, self._whole)

    def close(self) -> None:
        """Close the file, which stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Close the file and remove it: the search has ended.

        Raises:
            OSError: It cannot be removed.
        """
        self.close()
        self.path.unlink(missing_ok=True)


def _checksum(sizes: tuple[int, ...], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<4Q", *sizes)))


def _read_record(file: BinaryIO) -> tuple[Record, int] | None:
    """The next record and its size in bytes, or None where there is no whole one."""
    frame = file.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    *sizes, checksum = _FRAME.unpack(frame)
    kind, n_keys, key_size, n_numbers = sizes
    n_bytes = n_keys * key_size + 8 * n_numbers
    if n_bytes > os.fstat(file.fileno()).st_size - file.tell():
        # A record that was torn, or sizes that were changed.
        return None
    body = file.read(n_bytes)
    if _checksum(tuple(sizes), body) != checksum:
        return None
    keys = [body[i * key_size : (i + 1) * key_size] for i in range(n_keys)]
    return Record(kind, keys, np.frombuffer(body, "<f8", offset=n_keys * key_size)), _FRAME.size + n_bytes


@contextmanager
def journaled(
    problem: AnonymizationProblem,
    path: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
) -> Iterator[Journal]:
    """Keep what a problem evaluates in a journal on disk, for as long as the block lasts.

    It stays at the end of the block; `journal.remove()` removes it when it is no longer needed.

    Args:
        problem: A `LatticeProblem` or a `LocalRecodingProblem`.
        path: The file of the journal. Without `resume` the first evaluation begins it anew.
        settings: What has to be the same for the searches to be the same, such as the seed; values as in JSON.
        resume: Whether an existing file is taken up.

    Yields:
        The journal.

    Raises:
        TypeError: `problem` is of another kind.
        ValueError: The file is of another problem or of other settings, or it is something else than a journal.
        OSError: It cannot be read.
    """
    if not isinstance(problem, AnonymizationProblem) or problem.told_apart is None:
        raise TypeError(f"problem must be a LatticeProblem or a LocalRecodingProblem, got {type(problem).__name__}")
    journal = Journal(path, fingerprint(problem, settings or {}))
    there = journal.path.exists()
    if there:
        journal.check_replaceable()
    if there and resume:
        for record in journal.records():
            if record.kind == VALUES:
                problem.remember(record.keys, record.numbers)
            elif record.kind == LESSON:
                journal.lessons[record.keys[0]] = record.numbers
    problem.journal = journal
    try:
        yield journal
    finally:
        problem.journal = None
        journal.close()


def fingerprint(problem: AnonymizationProblem, settings: Mapping[str, Any]) -> str:
    """64 hexadecimal digits that tell problems apart: table, hierarchies, `repr` of measures, suppression, settings."""
    made = hashlib.sha256()
    table = problem.table
    words = [
        *map(repr, (problem.objectives, problem.constraints, problem.suppression)),
        *map(repr, (table.sensitive, table.label, table.person)),
        json.dumps(dict(settings), sort_keys=True, default=str),
    ]
    if problem.told_apart:
        words.append(problem.told_apart)
    # The counts of the quasi-identifiers' values in each distinct tuple are the tuples themselves.
    arrays = []
    for name, hierarchy in table.quasi_identifiers.items():
        words += [repr(name), repr(hierarchy.labels)]
        arrays.append(hierarchy.groups)
    for name, column in table.tuples.columns.items():
        words += [repr(name), repr(table.tuples.domains[name])]
        arrays += [column.starts, column.values, column.counts]
    for text in words:
        made.update(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest())
    for array in arrays:
        made.update(repr(array.shape).encode())
        made.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return made.hexdigest()
