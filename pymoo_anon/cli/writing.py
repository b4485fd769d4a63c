"""Writing a recoded table: each distinct row once, and then as often as it occurs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pymoo_anon.cli.engines import kind_of, rewritten, said, write_table
from pymoo_anon.publishing.release import Recoded
from pymoo_anon.table.frames import fetched

# So many bytes of one line, and so many rows of a Parquet file, are written at a time.
_BLOCK = 1 << 24
_ROWS = 1 << 20


def write_recoded(made: Recoded, path: Path, like: tuple[str, str] | None = None) -> None:
    """Write a table that was recoded; a CSV file may have another separator and other line ends than its engine's."""
    kind = kind_of(path)
    if made.counts is None or (kind == "parquet" and find_spec("pyarrow") is None):
        write_table(made.frame, path)
        if like is not None:
            rewritten(path, *like)
    elif kind == "parquet":
        said(_write_parquet, made.distinct, made.counts, path)
    else:
        # The engine writes each distinct row, as it writes numbers, days and quotes.
        few = path.with_name(f"{path.name}.distinct.csv")
        write_table(made.distinct, few)
        if like is not None:
            rewritten(few, *like)
        _repeat_lines(few, made.counts, path)
        few.unlink()


def _repeat_lines(few: Path, counts: NDArray[np.int64], path: Path) -> None:
    """Write each row of a CSV file as often as it occurs, below its header."""
    with few.open("rb") as read, path.open("wb") as write:
        rows = _rows_of(read)
        write.write(next(rows))
        for row, n in zip(rows, counts.tolist(), strict=True):
            together = max(_BLOCK // len(row), 1)
            for begin in range(0, n, together):
                write.write(row * min(together, n - begin))


def _rows_of(file: BinaryIO) -> Iterator[bytes]:
    """The rows of a CSV file with their line ends: a line end inside quotes has an odd number of them before it."""
    for line in file:
        row = line
        while row.count(b'"') % 2:
            row += next(file)
        yield row


def _write_parquet(frame: Any, counts: NDArray[np.int64], path: Path) -> None:
    """Write each row of a frame as often as it occurs: of a text its place among the distinct ones is repeated."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")

    table = fetched(nw.from_native(frame))
    index = table.implementation.is_pandas()
    few = pa.Table.from_pandas(table.to_native(), preserve_index=False) if index else table.to_arrow()
    texts = [pa.types.is_string(one.type) or pa.types.is_large_string(one.type) for one in few.schema]
    columns = [
        (own.dictionary_encode() if is_text else own).combine_chunks()
        for own, is_text in zip(few.columns, texts, strict=True)
    ]
    coded = pa.table(columns, names=few.column_names)
    ends = np.cumsum(counts)
    with pq.ParquetWriter(path, coded.schema, store_schema=False) as writer:
        # What the columns are is said of the texts themselves, not of the places that stand for them here.
        schema = {b"ARROW:schema": base64.b64encode(few.schema.serialize())} | (few.schema.metadata or {})
        writer.add_key_value_metadata(schema)
        for start in range(0, int(counts.sum()), _ROWS):
            rows = np.searchsorted(ends, np.arange(start, min(start + _ROWS, ends[-1])), side="right")
            writer.write_table(coded.take(pa.array(rows)), row_group_size=_ROWS)
