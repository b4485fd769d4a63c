"""The ten tuples of Dewri et al. 2009 (*On the comparison of microdata disclosure control algorithms*), Tables 1 to 3.

Domains are the values that occur, as the utilities of the paper's section 5.5 have it.
"""

import numpy as np
import pandas as pd

from pymoo_anon.table import Generalization, Hierarchy, Microdata

T1 = pd.DataFrame(
    {
        "zip code": [13053, 13268, 13268, 13053, 13253, 13253, 13250, 13052, 13269, 13250],
        "age": [28, 41, 39, 26, 50, 55, 49, 31, 42, 47],
        "marital status": [
            "CF-Spouse",
            "Separated",
            "Never Married",
            "CF-Spouse",
            "Divorced",
            "Spouse Absent",
            "Divorced",
            "Spouse Present",
            "Separated",
            "Separated",
        ],
    },
    index=pd.RangeIndex(1, 11, name="tuple"),
)
_ZIPS, _AGES, _STATUSES = (sorted(T1[column].unique()) for column in T1)


def _digits_kept(n: int) -> list[str]:
    return [str(code)[:n] + "*" * (5 - n) for code in _ZIPS]


def _ages_in(*edges: int) -> list[str]:
    bins = pd.cut(_AGES, edges)
    return [f"({one.left},{one.right}]" for one in bins]


MARRIED = ["Married" if status in ("CF-Spouse", "Spouse Present") else "Not Married" for status in _STATUSES]
HIERARCHIES = {
    "zip code": Hierarchy([_ZIPS, _digits_kept(4), _digits_kept(3), _digits_kept(2), ["*"] * 6]),
    "age": Hierarchy([_AGES, _ages_in(25, 35, 45, 55), ["*"] * 10]),
    "marital status": Hierarchy([_STATUSES, MARRIED, ["*"] * 6]),
}
# The ages of the three anonymizations do not nest in one another: other hierarchies of the same domain.
WIDER_AGES = Hierarchy([_AGES, _ages_in(15, 35, 55), ["*"] * 10])
OTHER_AGES = Hierarchy([_AGES, _ages_in(20, 40, 60), ["*"] * 10])


def _node(ages: Hierarchy, **levels: int) -> Generalization:
    chosen = dict(zip(HIERARCHIES, levels.values(), strict=True))
    hierarchies = {**HIERARCHIES, "age": ages}
    return Generalization(
        {name: hierarchies[name].groups[level] for name, level in chosen.items()},
        {name: hierarchies[name].labels[level] for name, level in chosen.items()},
    )


TABLE = Microdata.from_frame(T1, HIERARCHIES)
GENERALIZATIONS = {
    "T3a": _node(HIERARCHIES["age"], zip=1, age=1, status=1),
    "T3b": _node(WIDER_AGES, zip=2, age=1, status=1),
    "T4": _node(OTHER_AGES, zip=3, age=1, status=2),
}

#: (10,) int64 array: the distinct tuple that each row of Table 1 is.
ROWS = np.array(
    [
        TABLE.tuples.codes.tolist().index([_ZIPS.index(code), _AGES.index(age), _STATUSES.index(status)])
        for code, age, status in T1.itertuples(index=False)
    ]
)
