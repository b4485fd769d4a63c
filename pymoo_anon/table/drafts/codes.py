"""Drafts for codes such as zip or ICD: redaction from the right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import ROOT
from pymoo_anon.table.drafts.base import Draft, useful

_LONGEST = 40
# Capital letters and digits, in groups with one sign in between, as in E11.9 or SW1A 1AA.
_LIKELY = re.compile(r"(?=.*\d)[A-Z0-9]+(?:[ ./_-][A-Z0-9]+)*", re.ASCII)
_LONGEST_LIKELY = 16


def draft_codes(values: Sequence[Any]) -> Draft:
    """Redaction from the right: 02139, 0213*, 021**, and so on.

    Codes are aligned at the left, as in ARX. At each level so many signs stay; a code that is no longer than that stays
    as it is until the codes that begin with it become one group with it: E11 and E11.9 are E11 and E11.* first, and
    then both E11**. Levels that gain nothing are left out, such as the one that only takes the dot away.

    >>> draft_codes(["02139", "02138", "02215"]).hierarchy.labels[1:]
    (('0213*', '0221*'), ('*',))
    """
    texts = [str(value) for value in values]
    bad = [text for text in texts if len(text) > _LONGEST or ROOT in text]
    if bad:
        raise ValueError(f"codes must have at most {_LONGEST} signs, none of them {ROOT!r}, got {examples(bad)}")
    order = sorted(range(len(values)), key=lambda i: texts[i])
    length = max(map(len, texts))
    levels = {str(kept): [_redacted(texts[i], kept, length) for i in order] for kept in range(length - 1, 0, -1)}
    hierarchy, _ = useful([values[i] for i in order], levels)
    lengths = sorted(set(map(len, texts)))
    signs = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return Draft(hierarchy, "codes", f"codes of {signs} signs, redacted from the right")


def looks_like_a_code(value: Any) -> bool:
    """Whether a value is short, of capital letters and digits, with a digit in it."""
    return isinstance(value, str) and len(value) <= _LONGEST_LIKELY and _LIKELY.fullmatch(value) is not None


def _redacted(text: str, kept: int, length: int) -> str:
    """A code of which so many signs stay, as long as the longest one; a shorter code stays as it is."""
    return text if len(text) < kept else text[:kept] + ROOT * (length - kept)
