"""Kept columns: the reason for each, its coarseness, and averages of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import floor, inf, lcm
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, listed, positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.publishing.recoding import Recoding, complete_rows, lookup, values_and_texts
from pymoo_anon.table.domain_values import Name, is_number, label_text, meant, read_numbers, real_numbers, spelled
from pymoo_anon.table.frames import Frame, Renamed, as_key, combinations_of, distinct_rows, factorized, held, totals
from pymoo_anon.table.generalization import Decoded
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import Microdata, names_of
from pymoo_anon.typing import Floats, Ints

if TYPE_CHECKING:
    from pymoo_anon.table.guesses import Profile

# A shorter reason tells readers of the uniqueness nothing.
_FEWEST_WORDS = 5


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a column without a role is released.

    Numbers of whole or floating type stay numbers of their type; everything else that is made coarser becomes text.
    Means of numbers are floating numbers.

    Args:
        reason: Why it is released, in at least five words, or None where nobody said it.
        round: Numbers become the nearest multiple of this; a number halfway goes up.
        clip: The least and the greatest number; numbers beyond become these, after they were rounded.
        hierarchy: A hierarchy of its values; each becomes its label at `level`.
        level: A level of the hierarchy.
        mean: Whether each number becomes the mean of its class: all rows of a class then hold one number, and the
            column keeps its total. Suppressed rows that are marked are one class.
        decimal_point: Whether the point in text such as "1.204" is a decimal one, also beside "950".

    Raises:
        TypeError: `hierarchy` is none.
        ValueError: An argument is out of range, or a hierarchy comes without a level, or with numbers to round or clip,
            or a mean with any of these.

    >>> Kept(round=10, clip=(150, 200)).words
    'rounded to multiples of 10, clipped to 150 and 200'
    """

    reason: str | None = None
    round: float | None = None
    clip: tuple[float, float] | None = None
    hierarchy: Hierarchy | None = None
    level: int | None = None
    mean: bool = False
    decimal_point: bool = False

    def __post_init__(self) -> None:
        if self.reason is not None and not is_reason(self.reason):
            raise ValueError(f"reason must say in at least five words why a column is kept, got {self.reason!r}")
        if self.round is not None and not (is_number(self.round) and 0 < self.round < inf):
            raise ValueError(f"round must be a positive number, got {self.round!r}")
        are_two = isinstance(self.clip, Sequence) and len(self.clip) == 2 and all(map(is_number, self.clip))
        if self.clip is not None and not (are_two and -inf < self.clip[0] <= self.clip[1] < inf):
            raise ValueError(f"clip must be the least and the greatest number, the least first, got {self.clip!r}")
        if not isinstance(self.mean, bool):
            raise ValueError(f"mean must be True or False, got {self.mean!r}")
        if self.mean and any(own is not None for own in (self.round, self.clip, self.hierarchy)):
            raise ValueError("mean must be given without round, clip and hierarchy, got several")
        if (self.hierarchy is None) != (self.level is None):
            raise ValueError("hierarchy and level must be given together, got one of them")
        if self.hierarchy is not None:
            if not isinstance(self.hierarchy, Hierarchy):
                raise TypeError(f"hierarchy must be a Hierarchy, got {self.hierarchy!r:.80}")
            if self.round is not None or self.clip is not None:
                raise ValueError("a hierarchy must be given without round and clip, got both")
            if type(self.level) is not int or not 0 <= self.level <= self.hierarchy.length:
                raise ValueError(f"level must be from 0 to {self.hierarchy.length}, got {self.level!r}")

    @property
    def words(self) -> str:
        """Change of the values in words, or an empty text."""
        told = [] if self.round is None else [f"rounded to multiples of {label_text(self.round)}"]
        told += [] if self.clip is None else [f"clipped to {' and '.join(map(str, map(label_text, self.clip)))}"]
        told += ["replaced by the mean of the class"] if self.mean else []
        told += [] if self.hierarchy is None else [f"level {self.level} of a hierarchy of {self.hierarchy.length}"]
        return ", ".join(told)

    @property
    def said(self) -> str | None:
        """Change of the values and reason, or None."""
        return ": ".join(part for part in (self.words, self.reason) if part) or None

    def texts(self, name: Name, values: Sequence[Any]) -> list[str | None]:
        """Return the new texts of values, none of them missing.

        Raises:
            ValueError: A value is no number, or has no row in the hierarchy.
        """
        if self.hierarchy is not None:
            hierarchy, places = fitted(name, self.hierarchy, values)
            labels = [label_text(label) for label in hierarchy.labels[self.level or 0]]
            return [labels[group] for group in hierarchy.groups[self.level or 0][places]]
        coarse = [self._coarse(Fraction(number)) for number in self.numbers(name, values)]
        return [format((Decimal(one.numerator) / one.denominator).normalize(), "f") for one in coarse]

    def others(self, name: Name, values: Sequence[Any]) -> list[Any]:
        """Return the values of a released column that no value becomes."""
        if self.hierarchy is not None:
            labels = {label_text(label) for label in self.hierarchy.labels[self.level or 0]}
            return [value for value in values if value not in labels]
        ends = [meant(end) for end in self.clip or ()]
        numbers = zip(values, map(Fraction, self._decimals(name, values)), strict=True)
        return [value for value, number in numbers if number not in ends and self._coarse(number) != number]

    def numbers(self, name: Name, values: Sequence[Any]) -> list[Decimal]:
        """Return values as numbers.

        Raises:
            ValueError: One is none, or points may group thousands.
        """
        numbers = self._decimals(name, values)
        if read_numbers(values, [1] * len(values), self.decimal_point)[1] == ",":
            raise ValueError(
                f"column {name!r} must write numbers like 1234.5 to be {self.words}, got {examples(values)}, where the "
                'point may group thousands; write 1204, as decimal = "," in [data] reads it, or 1.2040 for a fraction'
            )
        return numbers

    def _decimals(self, name: Name, values: Sequence[Any]) -> list[Decimal]:
        numbers = [spelled(value, Decimal) for value in values]
        # A whole number may be larger than any float.
        if wrong := [v for v, own in zip(values, numbers, strict=True) if not (is_number(own) and abs(own) < 1e300)]:
            raise ValueError(f"column {name!r} must hold numbers to be {self.words}, got {examples(wrong)}")
        return [own if isinstance(own, Decimal) else Decimal(str(own)) for own in numbers]

    def _coarse(self, value: Fraction) -> Fraction:
        if self.round is not None:
            step = meant(self.round)
            value = step * floor(value / step + Fraction(1, 2))
        if self.clip is not None:
            value = min(max(value, meant(self.clip[0])), meant(self.clip[1]))
        return value


def kept_of(keep: Any) -> dict[Name, Kept]:
    """Return the kept columns from names, reasons by name, or `Kept` by name."""
    given = keep if isinstance(keep, Mapping) else dict.fromkeys(names_of(keep))
    for name, own in given.items():
        if not isinstance(own, Kept | None) and not is_reason(own):
            raise ValueError(f"keep[{name!r}] must say in at least five words why it is kept, got {own!r}")
    return {name: own if isinstance(own, Kept) else Kept(reason=own) for name, own in given.items()}


def coarsened(source: Renamed, table: Microdata, kept: Mapping[Name, Kept]) -> Renamed:
    """Return the frame with its kept columns made coarser."""
    coarse = {name: own for name, own in kept.items() if own.words and name in source.names}
    if taken := [name for name in coarse if name in {*table.tuples.domains, table.person}]:
        raise ValueError(f"keep must make columns without a role coarser, got {examples(taken)}")
    frame = source.frame
    for number, (name, own) in enumerate(coarse.items()):
        # Means wait for the classes.
        frame = frame if own.mean else _with_texts(frame, source.alias(name), own, name, f"kept {number}")
    return replace(source, frame=frame)


def _with_texts(frame: Frame, column: str, own: Kept, name: Name, key: str) -> Frame:
    """Replace the values of one column by their text."""
    dtype = frame.collect_schema()[column]
    if dtype.is_nested():
        raise TypeError(f"column {name!r} must hold single values to be {own.words}, got {dtype}")
    whole, stays = dtype.is_integer(), own.hierarchy is None and (dtype.is_integer() or dtype.is_float())
    parts = [part for part in (own.round, *(own.clip or ())) if part is not None and meant(part).denominator > 1]
    if whole and parts:
        raise ValueError(
            f"round and clip must be whole for the whole numbers of column {name!r}, got {examples(parts)}"
        )
    values = {text: value for value, text in values_and_texts(frame, column)}
    texts = own.texts(name, _by_digits(list(values.values()), dtype))
    if whole and stays and (beyond := sorted({int(text) for text in texts if text and not _fits(int(text), dtype)})):
        raise ValueError(
            f"round and clip must give numbers that the type of column {name!r} holds, which is {dtype}, got "
            f"{examples(beyond)}; give the column a wider type"
        )
    small = lookup(frame, {}, {f"{key} known": list(values), f"{key} text": texts})
    joined = frame.with_columns(as_key(frame, column).alias(key)).join(
        small, left_on=key, right_on=f"{key} known", how="left"
    )
    text = nw.col(f"{key} text")
    if stays and frame.implementation.is_pandas():
        # A number that may be missing has types of its own there.
        native, kind = joined.to_native(), "Float64"
        if whole:
            kind = "UInt64" if dtype.is_unsigned_integer() else "Int64"
        numbers = native[f"{key} text"].astype("string").astype(kind).astype(native[column].dtype)
        joined = nw.from_native(native.assign(**{column: numbers}))
    else:
        joined = joined.with_columns((text.cast(dtype) if stays else text).alias(column))
    return joined.select(frame.collect_schema().names())


def _by_digits(values: list[Any], dtype: Any) -> list[Any]:
    """Return values with the digits of their type. A float of 32 bits has few of them."""
    return [float(str(np.float32(value))) for value in values] if dtype == nw.Float32 else values


def _fits(value: int, dtype: Any) -> bool:
    bits = int(str(dtype).lstrip("UInt"))
    return 0 <= value < 2**bits if dtype.is_unsigned_integer() else -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def is_reason(value: Any) -> bool:
    """Return whether a value is a text of at least five words."""
    return isinstance(value, str) and len(value.split()) >= _FEWEST_WORDS


def unexplained(source: Renamed, table: Microdata, kept: Mapping[Name, Kept]) -> str:
    """Ask for the reasons that kept columns lack, or return an empty text.

    Columns that identify persons or tell a quasi-identifier need one.
    """
    unsaid = [name for name, own in kept.items() if own.reason is None]
    if not unsaid:
        return ""
    # Loaded late: it reads the words of many languages.
    from pymoo_anon.table.guesses import profiles_of

    aliases = [source.alias(name) for name in unsaid]
    profiles = profiles_of(source.frame, aliases)
    each = zip(unsaid, profiles, strict=True)
    dangers = [([name], why) for name, own in each if (why := replace(own, name=str(name)).guess.danger) is not None]
    if len(unsaid) > 1:
        (n,) = totals(distinct_rows(source.frame, aliases), n=nw.len())
        if replace(profiles[0], n_distinct=n, n_missing=0).is_nearly_unique:
            told = f"together they are nearly unique: {n:,} values in {profiles[0].n_rows:,} rows"
            dangers.append((unsaid, told))
    # The mean of a class tells no more than the class.
    asked = [name for name in unsaid if not kept[name].mean]
    dangers += [([name], told) for name, told in telling(source, table, asked, profiles).items()]
    if not dangers:
        return ""
    (names, danger), *rest = dangers
    others = dict.fromkeys(name for own, _ in rest for name in own if name not in names)
    more = f"; the same for {examples(others)}" if others else ""
    return (
        f"keep must say why {listed(map(repr, names))} {'is' if len(names) == 1 else 'are'} released as "
        f"{'it is' if len(names) == 1 else 'they are'}: {danger}; give a reason of at least five words, "
        f"keep={{{names[0]!r}: 'because ...'}}, or in a project file reason = \"because ...\" beside its role{more}"
    )


def telling(
    source: Renamed, table: Microdata, asked: Sequence[Name], profiles: Sequence[Profile] = ()
) -> dict[Name, str]:
    """Say which columns tell of a quasi-identifier, and why. Those without a role come with their profiles."""
    from pymoo_anon.table.guesses import Profile, decided_columns

    names, every, known = {source.alias(name): name for name in asked}, [*profiles], [*table.quasi_identifiers]
    for name in [*known, *(name for name in asked if name in table.tuples.domains)]:
        domain, rows = table.tuples.domains[name], table.tuples.totals(name)
        held = np.flatnonzero(rows)
        every.append(Profile.of(source.alias(name), [domain[place] for place in held], rows[held].tolist()))
    person, told = None if table.person is None else source.alias(table.person), dict[Name, str]()
    aliases = {source.alias(name): name for name in known}
    for alias, own in decided_columns(source.frame, every, [*names], person, [*aliases]).items():
        name = aliases[own]
        told[names[alias]] = f"the quasi-identifier {name!r} decides it, so it tells of {name!r} what a level hides"
    # Kept columns are refused for the above alone.
    deciding = [alias for alias, name in names.items() if name in table.tuples.domains]
    for own, alias in decided_columns(source.frame, every, [*aliases], person, deciding).items():
        told[names[alias]] = f"it decides the quasi-identifier {aliases[own]!r}, so it tells what a level hides"
    return told


def check_coarse(
    written: Renamed, released: Sequence[Name], kept: Mapping[Name, Kept], quasi_identifiers: Iterable[Name]
) -> None:
    """Raise if a kept column of a release holds other values than allowed."""
    # A file names its columns by texts.
    there = dict(zip(released, written.names, strict=True))
    cells = [there[one] for one in quasi_identifiers]
    n = len(combinations_of(written, cells).weights) if any(own.mean for own in kept.values()) else 0
    for name, own in kept.items():
        if own.mean:
            n_of_numbers = len(combinations_of(written, [*cells, there[name]]).weights)
            if n != n_of_numbers:
                raise ValueError(f"column {name!r} must be {own.words}, got {n_of_numbers:,} means of {n:,} classes")
        elif own.words:
            dtype = written.frame.collect_schema()[written.alias(there[name])]
            found = combinations_of(written, [there[name]]).columns[there[name]]
            if wrong := own.others(name, _by_digits(found.dropna().tolist(), dtype)):
                raise ValueError(f"column {name!r} must be {own.words}, got {examples(wrong)}")


def averaged(
    source: Renamed, table: Microdata, made: Decoded, classes: EquivalenceClasses, kept: Mapping[Name, Kept]
) -> Renamed:
    """Return the frame with class means in columns that ask for them.

    Suppressed rows are one class. Means are exact but for the last rounding, so that columns keep their totals.
    """
    names = [name for name, own in kept.items() if own.mean]
    if not names:
        return source
    # Other columns are neither released nor measured, and would be held in memory.
    used = [source.alias(name) for name in source.names if name in {*table.tuples.domains, *kept}]
    rows = complete_rows(source, table).select(used)
    values = held(distinct_rows(rows, [source.alias(name) for name in table.quasi_identifiers]))
    # One number for all suppressed classes.
    numbers = np.where(classes.kept, np.arange(len(classes.kept)), -1).tolist()
    recoding = Recoding(source, table, made, classes, "mark", values)
    columns = [*used, "class"]
    # The keys of the classes would be held, too.
    frame = held(recoding.with_classes(rows, {"class": numbers}, {}).select(columns))
    for name in names:
        column = source.alias(name)
        means = _means(frame, column, name, kept[name])
        texts = [np.format_float_positional(float(one), trim="-") for one in means.values()]
        small = lookup(values, {"known": list(means)}, {"mean": texts})
        joined = frame.join(small, left_on="class", right_on="known", how="left")
        mean = nw.col("mean").cast(nw.Float64) if frame.collect_schema()[column].is_numeric() else nw.col("mean")
        frame = joined.with_columns(mean.alias(column)).select(columns)
    return replace(source, frame=frame.select(used))


def _means(frame: Frame, column: str, name: Name, own: Kept) -> dict[int, Fraction]:
    found = combinations_of(frame.select("class", column).to_native(), ["class", column])
    codes, values = factorized(found.columns[column])
    if (codes < 0).any():
        raise ValueError(f"column {name!r} must hold a number in every row to be {own.words}, got rows without one")
    numbers = own.numbers(name, _by_digits(values, frame.collect_schema()[column]))
    ratios = [number.as_integer_ratio() for number in numbers]
    # Whole numbers of Python are exact, and much quicker to add than fractions.
    unit = lcm(*{denominator for _, denominator in ratios})
    units = np.array([n * (unit // denominator) for n, denominator in ratios], dtype=object)
    places, classes = pd.factorize(found.columns["class"])
    sums, rows = np.full(len(classes), 0, dtype=object), np.zeros(len(classes), dtype=np.int64)
    np.add.at(sums, places, units[codes] * found.weights)
    np.add.at(rows, places, found.weights)
    triples = zip(classes.tolist(), sums.tolist(), rows.tolist(), strict=True)
    return {int(place): Fraction(total, unit * n) for place, total, n in triples}


def mdav(values: ArrayLike, k: int) -> Ints:
    """Group rows of numbers by their distances.

    A group has k to 2k - 1 rows. Maximum distance to average vector (Domingo-Ferrer and Torra 2005, Algorithm
    MDAV-generic). The row that is farthest from the mean takes its k - 1 nearest rows along, then the row that is
    farthest from this one. Of equal distances the first row counts. Scale columns of different units before.

    Args:
        values: (n,) or (n, n_columns) array of finite numbers.
        k: The least number of rows in a group, at most n.

    Returns:
        (n,) int64 array, the group of each row from 0 on.

    Raises:
        ValueError: The values are no such array, or `k` is no whole number from 1 to n.

    >>> mdav([1, 9, 2, 8, 1.5, 10, 2.5], 3)
    array([1, 0, 1, 0, 1, 0, 1])
    """
    X: Any = real_numbers(values)
    X = X[:, np.newaxis] if X.ndim == 1 else X
    if X.ndim != 2 or not X.size or not np.isfinite(X).all():
        raise ValueError(f"values must be an array of finite numbers with one or two axes, got {values!r:.80}")
    if positive_whole("k", k) > len(X):
        raise ValueError(f"k must be at most the {len(X):,} rows, got {k}")
    groups, left, n_groups = np.zeros(len(X), dtype=np.int64), np.arange(len(X)), 0
    while len(left) >= 2 * k:
        first = left[_distances(X[left], X[left].mean(axis=0)).argmax()]
        second = left[_distances(X[left], X[first]).argmax()]
        # Of fewer than 3k rows one group is taken, and the rest is the last.
        for center in (first, second)[: 2 if len(left) >= 3 * k else 1]:
            members = left[np.argsort(_distances(X[left], X[center]), kind="stable")[:k]]
            groups[members] = n_groups
            left, n_groups = np.setdiff1d(left, members, assume_unique=True), n_groups + 1
    groups[left] = n_groups
    return groups


def _distances(rows: Floats, center: Floats) -> Floats:
    return ((rows - center) ** 2).sum(axis=1)
