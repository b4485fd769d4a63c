"""Malformed CSV files, hierarchies and tables: well-formed ones, damaged in structure or bytes."""

import random
from collections.abc import Callable

CELLS = [*"abAFM@x", " a", "x y", "*", "", "?", "0", "7", "07", *"é–", "level 1", "None", "=1+1", "a;b", "\t", " "]
CELLS += ['"', '""', '"a', 'a"b', 'q"q', '"x,y"', '"\n"', "n\nn", "\r", "\0"]

Rows = list[list[str]]
Change = Callable[[random.Random, Rows], None]


def _well_formed(rng: random.Random) -> Rows:
    """Build a hierarchy of a few values with a root."""
    values = [f"{rng.choice('abcxyz')}{i}" for i in range(rng.randint(1, 8))]
    rows, groups = [[value] for value in values], list(range(len(values)))
    for level in range(rng.randint(0, 3)):
        parents = [rng.randrange(len(values)) for _ in values]
        groups = [parents[group] for group in groups]
        for row, group in zip(rows, groups, strict=True):
            row.append(f"{level}:{group}")
    for row in rows:
        row.append("*")
    return rows


def _cell(rng: random.Random, rows: Rows) -> None:
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = rng.choice(CELLS)


def _value_twice(rng: random.Random, rows: Rows) -> None:
    rows.append(list(rng.choice(rows)))


def _near_value(rng: random.Random, rows: Rows) -> None:
    row = list(rng.choice(rows))
    if row:
        row[0] = rng.choice([row[0].upper(), row[0] + " ", " " + row[0]])
    rows.append(row)


def _shorter_row(rng: random.Random, rows: Rows) -> None:
    row = rng.choice(rows)
    del row[rng.randrange(len(row) + 1) :]


def _longer_row(rng: random.Random, rows: Rows) -> None:
    rng.choice(rows).append(rng.choice(CELLS))


def _header(rng: random.Random, rows: Rows) -> None:
    names = rng.choice([["value", "level 1", "level 2", "level 3"], ["age", "young", "old", "all"], ["x"] * 4])
    rows.insert(0, names[: len(rows[0])])


def _no_root(rng: random.Random, rows: Rows) -> None:
    for row in rows:
        del row[-1:]


def _trailing_separator(rng: random.Random, rows: Rows) -> None:
    for row in rows:
        row.append("")


def _split(rng: random.Random, rows: Rows) -> None:
    for number, row in enumerate(rows):
        row.append(str(number % 2))


def _missing(rng: random.Random, rows: Rows) -> None:
    rows.append([""] * (len(rows[0]) - 1) + ["*"])


CHANGES: list[Change] = [
    _cell,
    _value_twice,
    _near_value,
    _shorter_row,
    _longer_row,
    _header,
    _no_root,
    _trailing_separator,
    _split,
    _missing,
]


def _blank_row(rng: random.Random, rows: Rows) -> None:
    rows.insert(rng.randrange(len(rows) + 1), [])


def _text(rng: random.Random, rows: Rows, separators: str) -> str:
    separator = rng.choice(separators)
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    quoted = rng.random() < 0.7

    def field(label: str) -> str:
        risky = any(sign in label for sign in ';,\t"\r\n')
        return '"' + label.replace('"', '""') + '"' if quoted and risky else label

    return "".join(separator.join(map(field, row)) + end for row in rows)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes that were cut, flipped, put in, or taken out."""
    at = rng.randrange(len(data) + 1)
    sort = rng.randrange(5)
    if sort == 0:
        return data[:at]
    if sort == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if sort == 2:
        more = rng.choice([b'"', b"\0", b"\xff", b"\xef\xbb\xbf", b";", b"\n", b"\n\n", b"\x1b[31m"])
        return data[:at] + more + data[at:]
    if sort == 3:
        return data[:at] + data[at + rng.randint(1, 4) :]
    return rng.choice([b"", b"\n", b"\xff\xfe", b"PK\3\4", bytes(rng.randrange(256) for _ in range(40))])


def _file(rng: random.Random, rows: Rows, changes: list[Change], separators: str) -> bytes:
    for change in rng.choices(changes, k=rng.randint(0, 3)):
        if not rows or not rows[0]:
            break
        change(rng, rows)
    text = _text(rng, rows, separators)
    encoding = rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
    data = text.encode(encoding, errors="replace")
    while rng.random() < 0.25:
        data = _damaged(rng, data)
    return data


def hierarchy_files(seed: int) -> bytes:
    """Build a hierarchy file from a seed, malformed or not."""
    rng = random.Random(seed)
    return _file(rng, _well_formed(rng), CHANGES, ";;;,\t")


def table_files(seed: int) -> bytes:
    """Build a table for the project of `data/right.toml` from a seed, malformed or not."""
    rng = random.Random(seed)
    rows = [["zip", "sex", "diagnosis", "paid", "note"]]
    rows += [[f"0213{i % 10}", "FM"[i % 2], "flu", "no", str(i)] for i in range(rng.randint(0, 8))]
    return _file(rng, rows, [_cell, _cell, _shorter_row, _longer_row, _blank_row], ",")
