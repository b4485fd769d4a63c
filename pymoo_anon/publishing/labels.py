"""How a label stands in a release: as text, the same from every engine."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import ROOT, Name
from pymoo_anon.table.generalization import Generalization

#: What stands in every quasi-identifier of a suppressed row.
SUPPRESSED = ROOT


def label_text(label: Any) -> str | None:
    """A label as text; None, which stands for a missing value, stays None.

    The text depends on the value alone, not on how an engine writes it: 17 and 17.0 are "17".

    >>> label_text(17.0), label_text("15–19"), label_text(2.5), label_text(None)
    ('17', '15–19', '2.5', None)
    """
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
    if isinstance(label, Decimal):
        return format(label.normalize(), "f") if label.is_finite() else str(label)
    if isinstance(label, Real) and float(label).is_integer():
        return str(int(float(label)))
    return str(label)


def label_texts(generalization: Generalization) -> dict[Name, list[str | None]]:
    """Per quasi-identifier the text of every group.

    >>> label_texts(Generalization({"age": [0, 0, 1]}, {"age": ["young", 18]}))
    {'age': ['young', '18']}
    """
    texts = {name: [label_text(label) for label in labels] for name, labels in generalization.labels.items()}
    for name, own in texts.items():
        twice: list[Hashable] = repeated(own)
        if twice:
            raise ValueError(
                f"the groups of {name!r} must have labels that differ as text, got more than once: {examples(twice)}"
            )
    return texts
