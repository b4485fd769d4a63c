"""A journal on disk of what a search has evaluated, so that it goes on where its process was killed.

A file is a head, which says of which search it is, and records behind it. Each record holds points, their numbers and a
checksum, and is written at once. What a killed process wrote by half is the end of the file, and is cut off.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

_MAGIC = b"pymoo_anon journal 1\n"

# Kind of a record, number of points, bytes of a point, numbers in the record, checksum of all of this and the rest.
_FRAME = struct.Struct("<BIIII")

#: Kinds of records: the measured values of points, and what a proof learned from the classes of a node.
VALUES, LESSON = 1, 2


class Record(NamedTuple):
    """A record of a journal.

    Attributes:
        kind: `VALUES` or `LESSON`.
        keys: The bytes of every x.
        numbers: (n,) float array.
    """

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
