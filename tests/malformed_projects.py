"""Malformed project files: a small right one, broken by a seed."""

import random
from pathlib import Path

RIGHT = Path(__file__).with_name("data").joinpath("right.toml").read_text(encoding="utf-8")

VALUES = [
    *("0", "-1", "1e400", "nan", "true", '""', '"x"', "[]", "{}", "[1, 'a']", "[[]]", '"\\u0000"', "1979-05-27"),
    *(
        "99999999999999999999",
        "'''\n'''",
        '"a\\nb"',
        "{a = 1}",
        '["k", 5]',
        "5.5",
        '"other"',
        '"identifier"',
        '"person"',
    ),
    *('"label"', '"k>=5"', '"../x"', '"/"', '"duckdb:x"', '"spark:"', '"mine.parquet"', '["?", "yes"]', '"drop"'),
    *('"keep"', '"dask"', "'\U0001f600'", "[", "]", '"', "=", "", "1 2"),
]

KEYS = [
    *("file", "engine", "role", "hierarchy", "seed", "strip", "names", "Role", "pop_size", "epsilon", "time-limit"),
    *("x.y", '""', "ä"),
]

TABLES = [
    *("data", "columns", "search", "release", 'columns."zip"', "columns.new", "report", "data.x", '""', "[search]"),
    "columns.zip.x",
]


def _changed_value(chosen, lines):
    place = chosen.choice([i for i, line in enumerate(lines) if "=" in line])
    lines[place] = f"{lines[place].split('=')[0]}= {chosen.choice(VALUES)}"


def _dropped_line(chosen, lines):
    lines.pop(chosen.randrange(len(lines)))


def _new_key(chosen, lines):
    lines.insert(chosen.randrange(len(lines) + 1), f"{chosen.choice(KEYS)} = {chosen.choice(VALUES)}")


def _new_table(chosen, lines):
    lines.insert(chosen.randrange(len(lines) + 1), f"[{chosen.choice(TABLES)}]")


def _repeated_line(chosen, lines):
    lines.insert(chosen.randrange(len(lines) + 1), chosen.choice(lines))


def _renamed_key(chosen, lines):
    place = chosen.choice([i for i, line in enumerate(lines) if "=" in line])
    lines[place] = f"{chosen.choice(KEYS)} ={lines[place].split('=', 1)[1]}"


def _strange_sign(chosen, lines):
    place = chosen.randrange(len(lines))
    at = chosen.randrange(len(lines[place]) + 1)
    sign = chosen.choice("\"\\[]{}=#.\0\r\x1b\u202e\ufeff,'")
    lines[place] = lines[place][:at] + sign + lines[place][at:]


_WAYS = [
    _changed_value,
    _changed_value,
    _dropped_line,
    _new_key,
    _new_table,
    _repeated_line,
    _renamed_key,
    _strange_sign,
]


def project_files(seed):
    """Build a project file that is broken in up to three ways."""
    chosen = random.Random(seed)
    lines = RIGHT.splitlines()
    for _ in range(chosen.randint(1, 3)):
        if any("=" in line for line in lines):
            chosen.choice(_WAYS)(chosen, lines)
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    if chosen.random() < 0.1:
        place = chosen.randrange(len(content) + 1)
        content = chosen.choice(
            [content[:place], content[:place] + b"\xff" + content[place:], content.decode().encode("utf-16")]
        )
    return content
