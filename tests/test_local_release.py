"""Releases of local recodings: every claim as plain rows say it, no damage unseen, nothing of classes in the order."""

from collections import Counter
from math import exp, log, log2

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from persons import FRAMES, QUASI, persons, rows_of
from strategies import more, tables

from pymoo_anon.objectives import (
    AlphaDeassociation,
    AverageClassSize,
    BasicBetaLikeness,
    Discernibility,
    DistinctLDiversity,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    KLDivergence,
    KMap,
    MarketerRisk,
    NonUniformEntropy,
    NormalizedWeightedPenalty,
    Precision,
    ProsecutorRisk,
    TCloseness,
)
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.publishing import RecountError, release, verify
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata


class Given(LocalRecodingProblem):
    """A problem in which every point is one recoding that somebody made."""

    def decode(self, x):
        return self.made


def measures_of(population):
    """A measure of each kind that there is."""
    return [
        *(KAnonymity(), ProsecutorRisk(), MarketerRisk(), AverageClassSize(), Discernibility(), KMap(population)),
        *(GeneralLossMetric(), NormalizedWeightedPenalty(), Precision(), NonUniformEntropy(), KLDivergence()),
        *(DistinctLDiversity("s0"), EntropyLDiversity("s0"), AlphaDeassociation("s0"), TCloseness("s0")),
        BasicBetaLikeness("s0"),
    ]


def by_rows(released, original, levels):
    """The same measures, from the rows of both tables and the levels of the hierarchies alone; the population is both.

    A label stands for the values that have it at any level.
    """
    names, n = list(levels), len(original)
    under, height, level_of = {}, {}, {}
    for name in names:
        under[name], level_of[name] = {}, {}
        height[name] = max(len(levels[name]) - 1, 1)
        for level, own in enumerate(levels[name]):
            for value, label in own.items():
                level_of[name].setdefault(str(label), level)
                if level_of[name][str(label)] == level:
                    under[name].setdefault(str(label), set()).add(value)
    classes = [own for _, own in released.groupby(names, dropna=False)]
    sizes = [len(own) for own in classes]
    extents = {name: released[name].map(lambda label, name=name: len(under[name][label])) for name in names}
    domain = {name: len(levels[name][0]) for name in names}
    loss = sum(((extents[name] - 1) / max(domain[name] - 1, 1)).sum() for name in names)
    climbed = sum(released[name].map(level_of[name]).sum() / height[name] for name in names)
    bits = 0.0
    for name in names:
        counts = Counter(original[name])
        held = released[name].map(lambda label, name=name, c=counts: sum(c[value] for value in under[name][label]))
        bits += np.log2(held.astype(float)).sum() - sum(c * log2(c) for c in counts.values())
    fits = [
        sum(all(row[name] in under[name][own[name].iloc[0]] for name in names) for row in original.to_dict("records"))
        for own in classes
    ]
    divergence = sum(c * log2(c) for c in Counter(original[names].itertuples(index=False, name=None)).values()) / n
    for own in classes:
        volume = np.prod([float(len(under[name][own[name].iloc[0]])) for name in names])
        divergence -= len(own) * log2(len(own) / volume) / n
    whole = Counter(original.s0)
    shares = [{value: count / len(own) for value, count in Counter(own.s0).items()} for own in classes]
    gains = [(p - whole[value] / n) / (whole[value] / n) for own in shares for value, p in own.items()]
    return {
        "k": min(sizes),
        "prosecutor risk": 1 / min(sizes),
        "marketer risk": len(sizes) / n,
        "AECS": n / len(sizes),
        "DM": sum(size**2 for size in sizes),
        "k-map": min(fits),
        "GLM": loss,
        "NWP": loss / n / len(names),
        "precision": 1 - climbed / n / len(names),
        "NUE": bits,
        "KL": divergence,
        "l of s0": min(map(len, shares)),
        "entropy l of s0": min(exp(-sum(p * log(p) for p in own.values())) for own in shares),
        "alpha of s0": max(max(own.values()) for own in shares),
        "t of s0": max(sum(abs(own.get(v, 0) - c / n) for v, c in whole.items()) / 2 for own in shares),
        "beta of s0": max(0.0, *gains),
    }


@st.composite
def recodings(draw):
    """A table, and a problem whose points are cells of any levels; often those of another tuple."""
    table = draw(tables(rooted=True))
    own = table.microdata
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lengths = [hierarchy.length for hierarchy in own.quasi_identifiers.values()]
    levels = np.column_stack([rng.integers(0, length + 1, own.n_distinct) for length in lengths])
    levels = levels[rng.integers(0, draw(st.integers(1, own.n_distinct)), own.n_distinct)]
    cells = [
        hierarchy.nodes.ancestors[levels[:, j], own.tuples.codes[:, j]]
        for j, hierarchy in enumerate(own.quasi_identifiers.values())
    ]
    problem = Given(own, measures_of(own))
    problem.made = LocalGeneralization(own.quasi_identifiers, np.column_stack(cells))
    return table, problem


KEEP = dict.fromkeys(["s0", "s1", "label"], "as it was drawn")


def kept(table):
    roles = {*table.microdata.sensitive, table.microdata.label}
    return {name: reason for name, reason in KEEP.items() if name not in roles}


@more(3)
@given(recodings())
def test_every_claim_is_what_rows_and_levels_say(drawn):
    table, problem = drawn
    made = release(table.frame, problem, np.zeros(problem.n_var, dtype=int), keep=kept(table), k_of_one=True)
    claims = made.claims.set_index("measure")
    assert claims.holds.tolist() == [True] * len(claims)
    found = by_rows(made.frame, table.frame, table.levels)
    assert sorted(found) == sorted(claims.index)
    for name, value in found.items():
        assert claims.recounted[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert claims.promised[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
