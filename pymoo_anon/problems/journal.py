"""Journal of a search on disk: a killed search can go on.

A search that begins again with the same seed and with `resume` runs as before, and takes values from the journal, and
`BranchAndBound` also bounds: its result is that of a search that was never killed.

A file has a head, which identifies the search, and then records of points, their numbers and a checksum. An incomplete
record at the end of the file is cut off.

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

import copyreg
import dis
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

_MAGIC = b"pymoo_anon journal 1\n"

# Kind of a record, number of points, bytes of a point, numbers in the record, checksum of all of this and the rest.
_FRAME = struct.Struct("<BIIII")

#: Kinds of records: measured values of points, and bounds that a proof read from the classes of a node.
VALUES, BOUNDS = 1, 2

# Kinds of global values with a fingerprint. Others, such as a frame, may change as they are used.
_PLAIN = (str, bytes, int, float, np.generic, np.ndarray, list, tuple, dict, set, frozenset)


class Record(NamedTuple):
    """Record of a journal."""

    kind: int  # `VALUES` or `BOUNDS`
    keys: list[bytes]  # The bytes of every x
    numbers: Floats  # (n,) float array


class Journal:
    """File of evaluated points, which appears with the first record.

    Args:
        path: The file.
        identity: Fingerprint of the search, in ASCII. A file with another one is never read.

    Attributes:
        bounds: Bounds that an earlier process read at nodes, by the bytes of x.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str) -> None:
        self.path = Path(path)
        self.bounds: dict[bytes, Floats] = {}
        self._head = _MAGIC + identity.encode("ascii") + b"\n"
        # Bytes of whole records, or None if the file begins anew.
        self._whole: int | None = None
        self._file: int | None = None

    def check_replaceable(self) -> None:
        """Refuse to replace a file that is no journal.

        Raises:
            ValueError: The file is no journal.
        """
        with self.path.open("rb") as file:
            if not _MAGIC.startswith(head := file.read(len(_MAGIC))):
                raise ValueError(f"{self.path} is no journal of a search, got {head!r:.30} at its beginning")

    def records(self) -> Iterator[Record]:
        """Yield the whole records of an earlier process.

        Raises:
            ValueError: The file belongs to a search with other settings.
        """
        content = self.path.read_bytes()
        if not self._head.startswith(content[: len(self._head)]):
            raise ValueError(f"{self.path} belongs to a search with other settings; search again")
        whole = len(self._head) if content.startswith(self._head) else 0
        while whole and (found := _read_record(content, whole)) is not None:
            record, whole = found
            yield record
        self._whole = whole or None

    def append(self, kind: int, keys: Sequence[bytes], numbers: Floats) -> None:
        """Write a record of one or more x, whole or not at all.

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

    def remember(self, keys: Sequence[bytes], values: Floats) -> None:
        """Write the measured values of points."""
        self.append(VALUES, keys, values)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        if self._whole is None:
            # Another process may have the old file open.
            self.path.unlink(missing_ok=True)
        self._file = os.open(self.path, flags, 0o600)
        if self._whole is None:
            os.write(self._file, self._head)
        else:
            os.ftruncate(self._file, self._whole)

    def close(self) -> None:
        """Close the file and leave it there."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Close the file and remove it."""
        self.close()
        self.path.unlink(missing_ok=True)


def _checksum(sizes: tuple[int, ...], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<4Q", *sizes)))


def _read_record(content: bytes, at: int) -> tuple[Record, int] | None:
    """Return the record at a place and its end, or None if damaged."""
    begin = at + _FRAME.size
    if len(content) < begin:
        return None
    *sizes, checksum = _FRAME.unpack_from(content, at)
    kind, n_keys, key_size, n_numbers = sizes
    end = begin + n_keys * key_size + 8 * n_numbers
    body = content[begin:end]
    if len(content) < end or _checksum(tuple(sizes), body) != checksum:
        return None
    keys = [body[i * key_size : (i + 1) * key_size] for i in range(n_keys)]
    return Record(kind, keys, np.frombuffer(body, "<f8", offset=n_keys * key_size)), end


@contextmanager
def journaled(
    problem: AnonymizationProblem,
    path: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
) -> Iterator[Journal]:
    """Write evaluated points to a journal.

    The file stays after the block; `journal.remove()` removes it.

    Args:
        problem: A `LatticeProblem` or a `LocalRecodingProblem`.
        path: The file of the journal. Without `resume` the first evaluation begins it anew.
        settings: Settings that decide the search, such as the seed; values as in JSON.
        resume: Whether to continue an existing file.

    Raises:
        TypeError: `problem` is of another kind.
        ValueError: The file belongs to another problem or other settings, or it is no journal.
        OSError: It cannot be read.
    """
    if not isinstance(problem, AnonymizationProblem) or problem.space_fingerprint is None:
        raise TypeError(f"problem must be a LatticeProblem or a LocalRecodingProblem, got {type(problem).__name__}")
    journal = Journal(path, fingerprint(problem, settings or {}))
    there = journal.path.exists()
    if there:
        journal.check_replaceable()
    if there and resume:
        for record in journal.records():
            if record.kind == VALUES:
                X = np.frombuffer(b"".join(record.keys), dtype=np.int64).reshape(len(record.keys), -1)
                problem.memory.add(X, record.numbers.reshape(len(X), -1))
            elif record.kind == BOUNDS:
                journal.bounds[record.keys[0]] = record.numbers
    problem.memory.journal = journal
    try:
        yield journal
    finally:
        problem.memory.journal = None
        journal.close()


def fingerprint(problem: AnonymizationProblem, settings: Mapping[str, Any]) -> str:
    """Return the fingerprint of a search. It covers table, hierarchies, measures, suppression and settings."""
    made = hashlib.sha256()
    table = problem.table
    words = [
        *map(repr, (problem.objectives, problem.constraints, problem.suppression)),
        *map(repr, (table.sensitive, table.label, table.person)),
        json.dumps(dict(settings), sort_keys=True, default=str),
    ]
    if problem.space_fingerprint:
        words.append(problem.space_fingerprint)
    content = [*words, *(one for own in (table, *problem.measured) for one in _beyond_repr(own))]
    for text in (one for one in content if isinstance(one, str)):
        made.update(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest())
    for array in (one for one in content if not isinstance(one, str)):
        made.update(repr(array.shape).encode())
        made.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return made.hexdigest()


def _beyond_repr(value: object, inside: tuple[int, ...] = ()) -> Iterator[str | Ints]:
    """Yield the content of an object beyond its `repr`. `inside` are the objects around it."""
    if isinstance(value, Microdata):
        for name, hierarchy in value.quasi_identifiers.items():
            yield from (repr(name), *_beyond_repr(hierarchy))
        # The value counts of the quasi-identifiers are the distinct tuples themselves.
        for name, column in value.tuples.columns.items():
            yield from (repr(name), repr(value.tuples.domains[name]), column.starts, column.values, column.counts)
    elif isinstance(value, Hierarchy):
        yield from (repr(value.labels), value.groups)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr(value.tolist())
    elif value is None or isinstance(value, str | bytes | int | float | np.generic):
        yield repr(value)
    elif id(value) in inside:
        yield f"around {inside.index(id(value))}"
    else:
        inside = (*inside, id(value))
        parts = _contents_of(value, inside)
        # The number tells apart ((1,), 2) and ((1, 2),).
        yield f"{type(value).__module__}.{type(value).__qualname__} {len(parts)}"
        for part in parts:
            yield from _beyond_repr(part, inside)


def _contents_of(value: Any, inside: tuple[int, ...]) -> Sequence[Any]:
    """Return the parts of an object. Its `repr` may tell its place in memory alone."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Mapping):
        return [*value.items()]
    if isinstance(value, set | frozenset):
        # Their order may change from one process to the next.
        return sorted(repr([*_beyond_repr(part, inside)]) for part in value)
    # A compiled function of numba holds a number of its process.
    value = getattr(value, "py_func", value)
    if isinstance(value, FunctionType):
        return *_parts_of(value), _globals_of(value), *(value.__closure__ or ())
    if isinstance(value, CodeType):
        return value.co_code, value.co_consts, value.co_names
    if isinstance(value, type) and issubclass(value, Objective) and not value.__module__.startswith("pymoo_anon."):
        return value.__bases__, *(own for own in vars(value).values() if isinstance(own, FunctionType))
    try:
        if isinstance(value, CellType):
            return [value.cell_contents]
        reduce: Any = copyreg.dispatch_table.get(type(value))
        state = reduce(value) if reduce else value.__reduce_ex__(2)
    except Exception:
        # It is a class or a module, or nothing is known of it, as of a lock or an empty cell.
        return [getattr(value, "__qualname__", getattr(value, "__name__", None))]
    return [state] if isinstance(state, str) else [_without_cached(part, type(value)) for part in state]


def _parts_of(function: FunctionType) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """Return the globals that decide what a function does: plain values and functions of its module."""
    found: dict[str, Any] = {}
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        for name in (one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"):
            own = function.__globals__.get(name)
            own = getattr(own, "py_func", own)
            if isinstance(own, FunctionType) and own.__globals__ is function.__globals__ and name not in found:
                found[name] = _parts_of(own)
                codes.append(own.__code__)
            elif isinstance(own, _PLAIN):
                found[name] = own
    return dict(sorted(found.items()))


def _without_cached(part: Any, kind: type) -> Any:
    if isinstance(part, dict):
        return {k: own for k, own in part.items() if not isinstance(getattr(kind, str(k), None), cached_property)}
    # A queue gives its entries one by one.
    return [*part] if isinstance(part, Iterator) else part
