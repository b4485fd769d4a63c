"""Refusals of privacy and loss models, and their messages."""

import datetime

import numpy as np
import pandas as pd
from errors import refused
from strategies import one_class_each

from pymoo_anon.objectives import (
    AlphaDeassociation,
    BasicBetaLikeness,
    DeltaDisclosure,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    GeneralLossMetric,
    KMap,
    MarketerRisk,
    RecursiveCLDiversity,
    TCloseness,
)
from pymoo_anon.table import Hierarchy, Microdata


def test_bad_arguments_are_refused():
    for c in (0, -1, np.nan, np.inf, True, "2", None):
        assert (
            refused(ValueError, lambda c=c: RecursiveCLDiversity("s", c)) == f"c must be a positive number, got {c!r}"
        )
    for distance in ("equals", 3, None, {"a", "b"}):
        assert refused(ValueError, lambda distance=distance: TCloseness("s", distance)) == (
            f"distance must be 'equal', 'ordered', all values in their order or a Hierarchy, got {distance!r}"
        )
    assert refused(ValueError, lambda: TCloseness("s", ["a", "b", "a"])) == (
        "distance must list every value once, got more than once: 'a'"
    )
    assert refused(ValueError, lambda: TCloseness("s", Hierarchy(["ab"]))) == (
        "the hierarchy of 's' must end in one group, so that every two values have a distance; "
        "Hierarchy.with_root() adds a level '*'"
    )
    assert refused(TypeError, lambda: KMap(pd.DataFrame())) == "population must be a Microdata, got DataFrame"
    for weights in ([1, -1], [np.nan, 1], [0, 0], "ab", [[1]]):
        assert refused(ValueError, lambda weights=weights: GeneralLossMetric(weights)) == (
            f"weights must be non-negative numbers, not all 0, got {weights!r}"
        )
    kinds = (
        EntropyLDiversity,
        AlphaDeassociation,
        TCloseness,
        BasicBetaLikeness,
        EnhancedBetaLikeness,
        DeltaDisclosure,
    )
    for kind in kinds:
        assert refused(TypeError, lambda kind=kind: kind(["s"])) == "column must be the name of a column, got ['s']"


def test_what_was_asked_of_truth_values_is_not_answered_for_numbers():
    """Keep answers apart by table, although Python takes True for 1."""
    truths, numbers = one_class_each([[True, False]]), one_class_each([[1, 0]])
    for order, own, other in (([0, 1], numbers, truths), ([False, True], truths, numbers)):
        TCloseness("s", order).check(own)
        assert "lacks " in refused(ValueError, lambda other=other, order=order: TCloseness("s", order).check(other))


def test_what_does_not_fit_the_table_is_refused():
    table = one_class_each(["ab", "bc"])
    assert refused(ValueError, lambda: TCloseness("s", "ordered").check(table)) == (
        "distance='ordered' needs numbers or dates in column 's', got 'a', 'b', 'c'; "
        "give distance all values in their order"
    )
    mixed = one_class_each([[1, 2], [datetime.date(2026, 1, 1)]])
    assert "in column 's'" in refused(ValueError, lambda: TCloseness("s", "ordered").check(mixed))
    for distance in (["a", "b", "d"], Hierarchy.flat("abd")):
        assert refused(ValueError, lambda distance=distance: TCloseness("s", distance).check(table)) == (
            "distance must have all values of column 's', lacks 'c'"
        )
    assert refused(ValueError, lambda: GeneralLossMetric([1, 1]).check(table)) == (
        "weights must be one for each of the 1 quasi-identifiers, got 2"
    )
    for objective in (EntropyLDiversity("z"), TCloseness("z", "ordered"), RecursiveCLDiversity("z", 2)):
        assert refused(ValueError, lambda objective=objective: objective.check(table)) == (
            f"{objective!r} reads column 'z', which has no role in the table; columns with a role: 'q', 's'"
        )
    other = Microdata.from_frame(pd.DataFrame({"p": [0, 1]}), {"p": Hierarchy.flat([0, 1])})
    assert refused(ValueError, lambda: KMap(other).check(table)) == (
        "population must have the table's quasi-identifiers 'q', got 'p'"
    )
    for domain in ([1, 0], [0, 1, 2]):
        other = Microdata.from_frame(pd.DataFrame({"q": [0, 1]}), {"q": Hierarchy.flat(domain)})
        assert refused(ValueError, lambda other=other: KMap(other).check(table)) == (
            "population must have the domains of the table, in the same order; those of 'q' differ; "
            "population.recoded gives it hierarchies of these domains"
        )
    assert refused(TypeError, lambda: MarketerRisk("people")) == "population must be a Microdata, got str"
