"""Values of a domain: identity, numbers, days, text, and bins of numbers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import compress, pairwise
from math import isfinite, lcm
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pymoo_anon._messages import one_of
from pymoo_anon.typing import Floats

#: The label of a value that is wholly generalized or suppressed.
ROOT = "*"

#: A column's name: text or, in a pandas frame, anything hashable, such as a whole number or a tuple.
Name: TypeAlias = Any

#: The type of a column's numbers.
NumberType: TypeAlias = type[int] | type[float] | type[Decimal]

# Longer texts are no numbers: a float cannot hold them.
_LONGEST_NUMBER = 300
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
# A day with or without a time, as in ISO 8601. Python writes a blank for the T.
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}(?::\d{2}(?::\d{2}(?:[.,]\d+)?)?)? ?(?:Z|[+-]\d{2}(?::?\d{2}){0,2})?)?", re.ASCII
)
_DECIMAL = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)


@dataclass(frozen=True)
class _Truth:
    """A Boolean that is no number."""

    value: bool

    def __repr__(self) -> str:
        return repr(self.value)


class Keyed:
    """Objects that are equal if their kinds and keys are."""

    def _key(self) -> tuple[Hashable, ...]:
        raise NotImplementedError(f"{type(self).__name__} must define _key")

    def __eq__(self, other: object) -> bool:
        """Compare the keys."""
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def same_as(value: Any) -> Hashable:
    """Return a key that equal values share.

    17 equals 17.0, but neither "17" nor True. The Decimal 0.1 equals the float 0.1.

    >>> same_as(Decimal("0.10")), same_as(17.0) == same_as(17), same_as(True) == same_as(1)
    (0.1, True, False)
    """
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    if isinstance(value, bool):
        return _Truth(value)
    if isinstance(value, Decimal) and value.is_finite() and value != value.to_integral_value():
        nearest = float(value)
        return nearest if Decimal(repr(nearest)) == value else value
    return value


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(Decimal("sNaN")), is_missing(""), is_missing(0)
    (True, True, True, False, False)
    """
    if isinstance(value, Decimal):
        return value.is_nan()
    # Texts and whole numbers do not load pandas.
    return value is None or (not isinstance(value, str | int) and (value is pd.NA or bool(value != value)))


def python_values(column: Iterable[Any]) -> list[Any]:
    """Return the values of a column of any library, or of any iterable."""
    own = getattr(column, "to_list", None) or getattr(column, "to_pylist", None)
    return list(column) if own is None else own()


def tallied(values: Iterable[Any], counts: Iterable[int]) -> dict[Hashable, tuple[Any, int]]:
    """Count equal values by key, and keep their first.

    Missing values are None.

    >>> tallied([1, 1.0, float("nan"), "1"], [2, 1, 1, 1])
    {1: (1, 3), None: (None, 1), '1': ('1', 1)}
    """
    held: dict[Hashable, tuple[Any, int]] = {}
    for value, count in zip(values, counts, strict=True):
        key = None if is_missing(value) else same_as(value)
        first, before = held.get(key, (None if key is None else value, 0))
        held[key] = first, before + count
    return held


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number. A Decimal that is NaN compares with none."""
    if isinstance(value, Decimal):
        return not value.is_nan()
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def real_numbers(given: Any) -> Floats:
    """Return numbers as an array, an empty one if any is not a number."""
    try:
        own = np.array(given, dtype=object)
        are_numbers = all(isinstance(one, Real | Decimal) and not isinstance(one, bool) for one in own.flat)
        return own.astype(float) if are_numbers else np.empty(0)
    except (ValueError, OverflowError):
        return np.empty(0)


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def meant(number: Any) -> Fraction:
    """Return the fraction that a number stands for.

    It is the simple fraction with this float, else the decimal. No two fractions below a thousand with denominators of
    at most a million have the same float. For smaller numbers the denominators may be larger.

    >>> meant(1 / 3), meant(0.29), meant(0.123456789), meant(12)
    (Fraction(1, 3), Fraction(29, 100), Fraction(123456789, 1000000000), Fraction(12, 1))
    """
    if is_whole(number):
        return Fraction(int(number))
    number = float(number)
    simple = Fraction(number).limit_denominator(int(10**6 / max(min(abs(number), 1.0), 1e-12) ** 0.5))
    return simple if float(simple) == number else Fraction(str(number))


def spelled(value: Any, kind: NumberType) -> Any:
    """Read the number of a text, or return the value.

    >>> spelled("017", int), spelled("2.5", int), spelled("17", float), spelled("2.50", Decimal), spelled("x", int)
    (17, 2.5, 17.0, Decimal('2.50'), 'x')
    """
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(value):
        return value
    if kind is Decimal:
        return Decimal(value.strip())
    if _INTEGER.fullmatch(value):
        whole = int(value)
        return float(whole) if kind is float and float(whole) == whole else whole
    number = float(value)
    if not isfinite(number):
        return value
    return int(number) if kind is int and number.is_integer() else number


_LEADING_ZERO = re.compile(r"\s*[+-]?0\d+(?:\.\d*)?\s*", re.ASCII)


def has_leading_zero(value: Any) -> bool:
    """Tell whether a text is a number like 02139."""
    return isinstance(value, str) and _LEADING_ZERO.fullmatch(value) is not None


#: Larger numbers are codes.
LARGEST_NUMBER = Decimal(10) ** 18
# The last place of the smallest float.
_SMALLEST = -340

# Numbers as persons write them, by decimal separator. Thousands may be grouped.
_WRITTEN = {
    sign: re.compile(
        rf"\s*[+-]?(?:\d+|[1-9]\d{{0,2}}(?:[{parting}'’ \u00a0\u202f]\d{{3}})+)(?:[{sign}]\d+)?\s*", re.ASCII
    )
    for sign, parting in ((".", ","), (",", "."))
}


#: Signs of currencies, within brackets of a pattern.
CURRENCIES = "$£¥￥\u20a0-\u20cf"
# A number with a unit: a currency or % beside it, or a short word behind a blank.
_WITH_UNIT = re.compile(
    rf"\s*([+-]?)([{CURRENCIES}]?)[ \u00a0]?((?!0\d)\d[\d.,'’ \u00a0\u202f]*?)"
    rf"([ \u00a0]?[%‰{CURRENCIES}]|[ \u00a0][^\W\d_]\S{{0,7}}|)\s*"
)
_MONEY = re.compile(rf"[{CURRENCIES}]|[A-Z]{{3}}")


def read_numbers(
    values: Sequence[Any], counts: Sequence[int], decimal_point: bool = False
) -> tuple[list[Decimal | None], str]:
    """Read numbers in the notation of most rows, without a common unit.

    With them comes the decimal separator of the notation, empty for that of Python. With `decimal_point` no point
    groups thousands.

    >>> read_numbers(["1.234,50", "7", "k.A."], [1, 1, 1])
    ([Decimal('1234.50'), Decimal('7'), None], ',')
    >>> read_numbers(["34 J.", "7 J."], [1, 1])
    ([Decimal('34'), Decimal('7')], '.')
    """
    plain = [number_of(value) for value in values]
    unitless = None if None not in plain else _without_unit(values, counts)
    if unitless is not None:
        bare, unit = unitless
        # Prices have no three decimals: beside 0 the point in 45.000 groups thousands.
        beside = "0" if _MONEY.fullmatch(unit) else bare[0]
        numbers, sign = read_numbers([*bare, beside], [*counts, 0], decimal_point)
        return numbers[:-1], sign or "."
    # In 950 and 1.204 the point groups thousands, if three digits follow every one: decimals would all have a point.
    texts = [
        value for value, number in zip(values, plain, strict=True) if number is not None and isinstance(value, str)
    ]
    mixed = not decimal_point and len({"." in text for text in texts}) > 1
    readings = {"": plain}
    if None in plain or (mixed and all(map(_WRITTEN[","].fullmatch, texts))):
        readings |= {sign: [_number_written(value, sign) for value in values] for sign in _WRITTEN}
    rows = {sign: sum(compress(counts, [number is not None for number in own])) for sign, own in readings.items()}
    best = max(readings, key=lambda sign: (rows[sign], mixed and sign == ","))
    return readings[best], best


def _without_unit(values: Sequence[Any], counts: Sequence[int]) -> tuple[list[Any], str] | None:
    """Remove the unit of most rows, and return it, too, or return None."""
    texts = [value if isinstance(value, str) and len(value) <= _LONGEST_NUMBER else "" for value in values]
    found = [(*match.groups(),) if (match := _WITH_UNIT.fullmatch(text)) else ("",) * 4 for text in texts]
    rows = Counter[tuple[str, str]]()
    for (_, before, _, behind), count in zip(found, counts, strict=True):
        rows[before, behind.strip()] += count
    most = max(rows, key=lambda unit: rows[unit], default=("", ""))
    if most == ("", "") or 2 * rows[most] <= sum(counts):
        return None
    own = [sign + digits if (before, behind.strip()) == most else None for sign, before, digits, behind in found]
    return [value if bare is None else bare for value, bare in zip(values, own, strict=True)], "".join(most)


def _number_written(value: Any, sign: str) -> Decimal | None:
    if not isinstance(value, str) or not _WRITTEN[sign].fullmatch(value):
        return None if isinstance(value, str) else number_of(value)
    return number_of(re.sub(rf"[^\d{sign}+-]", "", value).replace(sign, "."))


def number_of(value: Any) -> Decimal | None:
    """Read a number of at most 10^18, or return None."""
    # Beyond 2^53 the text of a float rounds its whole number.
    own = int(value) if isinstance(value, float) and value.is_integer() else value
    number = Decimal(str(own)) if is_number(value) else spelled(value, Decimal)
    if not isinstance(number, Decimal) or not number.is_finite():
        return None
    return number if abs(number) <= LARGEST_NUMBER and number.as_tuple().exponent >= _SMALLEST else None  # type: ignore[operator]


def numbered(labels: Sequence[Hashable]) -> tuple[list[int], tuple[Hashable, ...]]:
    """Assign numbers to labels in order of appearance."""
    firsts: dict[Hashable, tuple[int, Hashable]] = {}
    groups = [firsts.setdefault(same_as(label), (len(firsts), label))[0] for label in labels]
    return groups, tuple(label for _, label in firsts.values())


def day_of(value: Any) -> date | None:
    """Return the local day of a date or text, or None.

    >>> day_of("2021-03-05T23:30+02:00"), day_of(datetime(2021, 3, 5, 10)), day_of("05.03.2021")
    (datetime.date(2021, 3, 5), datetime.date(2021, 3, 5), None)
    """
    if is_missing(value):
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    found = _MOMENT.fullmatch(str(value))
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        # There is no such day, such as February 30.
        return None


def is_day(value: Any) -> bool:
    """Tell whether a value is a day or its text.

    >>> is_day("2021-03-05"), is_day(datetime(2021, 3, 5)), is_day("2021-03-05 00:00"), is_day("2021-02-30")
    (True, True, False, False)
    """
    if isinstance(value, str):
        return len(value) == len("2021-03-05") and day_of(value) is not None
    if isinstance(value, datetime):
        return value == value and value == datetime(value.year, value.month, value.day)
    return isinstance(value, date)


def ascending(values: Sequence[Any]) -> list[Any]:
    """Sort values, or sort by type and text."""
    try:
        # True equals 1 in Python, and is put behind it.
        return sorted(values, key=lambda value: (value, isinstance(value, bool | np.bool_)))
    except (TypeError, ArithmeticError):
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def label_text(label: Any) -> str | None:
    """Return the text of a label. Equal labels have equal texts."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, datetime):
        return label.date().isoformat() if label.time() == time() and label.tzinfo is None else label.isoformat(" ")
    if isinstance(label, date):
        return label.isoformat()
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, Integral):
        return str(int(label))
    if isinstance(label, Decimal) and label.is_finite():
        # normalize() would round to the digits of the context.
        return str(int(label)) if label == label.to_integral_value() else format(label, "f").rstrip("0")
    if isinstance(label, Real) and float(label).is_integer():
        return str(int(float(label)))
    return str(label)


#: The precision is exact for all numbers that are read.
EXACT = Context(prec=700)


def bin_of(number: Decimal, width: Decimal) -> int:
    """Return the place of the bin of a number, counted from 0."""
    return int(EXACT.divide(number, width).to_integral_value(ROUND_FLOOR))


def interval_labels(
    numbers: Sequence[Decimal], width: Decimal, whole: bool, ends: tuple[Decimal, Decimal], sign: str = ""
) -> list[str]:
    """Label ordered numbers with their intervals.

    The first and the last interval are open where numbers lie beyond the ends.

    >>> interval_labels([Decimal(17), Decimal(23), Decimal(90)], Decimal(10), True, (Decimal(17), Decimal(23)))
    ['10–19', '≥20', '≥20']
    """
    least, first, last, most = (bin_of(number, width) for number in (numbers[0], *ends, numbers[-1]))

    def label(place: int) -> str:
        low, high = (EXACT.multiply(edge, width) for edge in (place, place + 1))
        if place == last < most:
            return f"≥{low:f}"
        if place == first > least:
            return f"<{high:f}"
        if whole:
            return f"{low:f}" if width == 1 else f"{int(low)}–{int(high) - 1}"
        return f"[{low:f}, {high:f})"

    places = [min(max(bin_of(number, width), first), last) for number in numbers]
    labels = {place: label(place) for place in {*places}}
    if sign == ",":
        labels = {place: own.replace(", ", "; ").replace(".", ",") for place, own in labels.items()}
    return [labels[place] for place in places]


_MOST_MAGNITUDE = 10**18
_MOST_BINS = 10_000_000


@dataclass(frozen=True)
class Bins:
    """Consecutive bins over numbers, without gaps."""

    edges: tuple[int | float, ...]
    closed: str
    whole: bool

    def __len__(self) -> int:
        """Count the bins."""
        return len(self.edges) - 1

    def find(self, value: Any) -> int:
        """Return the bin of a value, or -1."""
        if not is_number(value) or is_missing(value):
            return -1
        value = same_as(value)
        bisect: Any = bisect_right if self.closed == "left" else bisect_left
        # A value that is still a Decimal equals no float, so it is compared with the edges as they are written.
        key = (lambda edge: Decimal(repr(edge))) if isinstance(value, Decimal) else None
        position = bisect(self.edges, value, key=key) - 1
        if not 0 <= position < len(self) or (self.whole and value % 1 != 0):
            return -1
        return int(position)

    def label(self, first: int, last: int) -> Hashable:
        """Return the label of the bins first..last."""
        low, high = self.edges[first], self.edges[last + 1]
        if not self.whole:
            return f"[{low!r}, {high!r})" if self.closed == "left" else f"({low!r}, {high!r}]"
        lowest, highest = (low, high - 1) if self.closed == "left" else (low + 1, high)
        return lowest if lowest == highest else f"{lowest}–{highest}"


def nested_bins(
    low: float, high: float, widths: Sequence[float], step: float, closed: str
) -> tuple[list[list[Hashable]], Bins]:
    """Build the bins and labels of `Hierarchy.intervals`."""
    one_of("closed", closed, ("left", "right"))
    arguments = _numbers(low, high, step, widths)
    whole = all(isinstance(argument, Integral) for argument in arguments)
    # Edges are counted in units of the common denominator of the decimals, so that 0.2 and 0.1 make 0.3 exactly.
    exact = [Fraction(str(argument)) for argument in arguments]
    unit = lcm(*(fraction.denominator for fraction in exact))
    start, end, size, *sizes = (int(fraction * unit) for fraction in exact)
    if size <= 0:
        raise ValueError(f"step must be positive, got {step!r}")
    check_nested(arguments[2:])
    if end <= start or (end - start) % size != 0:
        raise ValueError(f"high - low must be a positive multiple of step, got {low!r}, {high!r} and {step!r}")
    n = (end - start) // size
    if n > _MOST_BINS:
        raise ValueError(f"high - low must be at most {_MOST_BINS:,} times step, got {n:,} times {step!r}")
    edges = range(start, end + 1, size)
    # Python's numbers compare exactly with those of a table, however large.
    bins = Bins(tuple(edges) if whole else tuple(edge / unit for edge in edges), closed, whole)
    return [_bin_labels(bins, width // size) for width in [size, *sizes]], bins


def check_nested(widths: Sequence[float]) -> None:
    """Raise unless each width is a larger multiple of the one before."""
    for finer, coarser in pairwise(widths):
        if coarser <= finer or Fraction(str(coarser)) % Fraction(str(finer)):
            raise ValueError(f"widths must nest, each a larger multiple of the one before: {finer}, {coarser}")


def _numbers(low: float, high: float, step: float, widths: Sequence[float]) -> list[float]:
    if not isinstance(widths, Iterable) or isinstance(widths, str):
        raise TypeError(f"widths must be a list of numbers, got {widths!r}")
    arguments = [low, high, step, *widths]
    for argument in arguments:
        if not is_number(argument) or not -_MOST_MAGNITUDE <= argument <= _MOST_MAGNITUDE:
            raise ValueError(
                f"low, high, step and widths must be whole, float or Decimal numbers of at most {_MOST_MAGNITUDE:.0e}, "
                f"got {argument!r:.80}"
            )
    return arguments


def _bin_labels(bins: Bins, together: int) -> list[Hashable]:
    labels: list[Hashable] = []
    for first in range(0, len(bins), together):
        last = min(first + together, len(bins)) - 1
        labels += [bins.label(first, last)] * (last - first + 1)
    return labels
