"""Redundant columns: equal to another one in every row, or decided by another one."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import aliased, as_text, factorized, fetched, totals
from pymoo_anon.table.guesses import Profile

# Columns are compared in some rows first, in fewer if columns are many.
_MOST_COMPARED_ROWS, _FEWEST_ROWS, _COMPARED = 2000, 64, 4 * 10**8
# A dependency counts where chance makes it less often than once in a billion tables.
_SURE = log(1e9)


def equal_columns(frame: Any, profiles: Sequence[Profile]) -> dict[Name, Name]:
    """Map columns to an earlier one that equals them in every row."""
    alike: dict[Any, list[Name]] = {}
    for own in profiles:
        if own.n_distinct > 1:
            held = frozenset(zip(map(str, own.values), own.counts or own.values, strict=True))
            alike.setdefault((own.n_distinct, own.n_missing, held), []).append(own.name)
    pairs = [(name, names[0]) for names in alike.values() for name in names[1:]]
    if not pairs:
        return {}
    wanted = list(dict.fromkeys(name for pair in pairs for name in pair))
    native, aliases = aliased(frame, wanted)
    alias = dict(zip(wanted, aliases, strict=True))
    columns = [(as_text(alias[a]), as_text(alias[b])) for a, b in pairs]
    same = [
        nw.when((a == b) | (a.is_null() & b.is_null())).then(nw.lit(1)).otherwise(nw.lit(0)).sum() for a, b in columns
    ]
    counts = totals(nw.from_native(native), **{f"pair {i}": own for i, own in enumerate(same)})
    return {a: b for (a, b), n in zip(pairs, counts, strict=True) if n == profiles[0].n_rows}


def decided_columns(
    frame: Any, profiles: Sequence[Profile], asked: Sequence[Name], person: Name | None = None
) -> dict[Name, Name]:
    """Map columns to another one that decides them.

    The day of birth decides the age, for example. Only columns of `asked` are compared. A column that decides more than
    half of all columns identifies persons and does not count. Rows of one person are no evidence, nor are so few rows
    that they could agree by chance.
    """
    own = {profile.name: profile for profile in profiles if profile.n_distinct > 1 and not profile.is_sampled}
    names = sorted((name for name in asked if name in own), key=lambda name: -own[name].n_distinct)
    found: dict[Name, Name] = {}
    if len(names) < 2:
        return found
    wanted = list(dict.fromkeys([*own, names[0] if person is None else person]))
    native, aliases = aliased(frame, wanted)
    table: Any = nw.from_native(native)
    alias = dict(zip(wanted, aliases, strict=True))
    some = _first_codes(table)
    for place, name in enumerate(names[:-1]):
        first = np.zeros(len(some), dtype=np.int64)
        codes = some[:, wanted.index(name)]
        first[codes] = np.arange(len(codes))
        same = (some == some[first[codes]]).all(axis=0)
        likely = [
            other for other, is_same in zip(wanted, same, strict=True) if is_same and other != name and other in own
        ]
        if name in found or not set(likely) & {*names[place + 1 :]}:
            continue
        # Count rows of persons beyond the first of each value.
        persons = table if person is None else table.select(alias[name], alias[person]).unique()
        n_tied = totals(persons, n=nw.len())[0] - own[name].n_distinct - (own[name].n_missing > 0)
        telling = {other for other, profile in own.items() if n_tied * _surprise(profile) > _SURE} - {name}
        tested = [alias[other] for other in likely if other in telling]
        if not tested:
            continue
        groups = table.group_by([alias[name]], drop_null_keys=False).agg(nw.col(*tested).n_unique())
        most = fetched(groups.select(nw.col(*tested).max())).rows(named=True)[0]
        decided = [other for other in likely if most.get(alias[other]) == 1]
        if 2 * len(decided) <= len(telling):
            found |= {other: name for other in decided if other in names[place + 1 :] and other not in found}
    return found


def _surprise(profile: Profile) -> float:
    """Return minus the log probability that two rows agree."""
    shares = np.array(profile.counts) / profile.n_rows
    return -log(float((shares**2).sum()))


def _first_codes(table: Any) -> Any:
    names = table.collect_schema().names()
    head = fetched(table.head(int(np.clip(_COMPARED / len(names) ** 2, _FEWEST_ROWS, _MOST_COMPARED_ROWS))))
    columns = [factorized(pd.Series(head[name].to_list(), dtype=object))[0] for name in names]
    return np.column_stack([np.unique(codes, return_inverse=True)[1] for codes in columns])
