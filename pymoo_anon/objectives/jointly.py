"""Bounds of monotone measures of joint classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.joint import divided
from pymoo_anon.objectives.bounds import Monotone, SuppressionBudget, fewest_unavoidable
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.typing import Floats, Ints


class JointMonotone(Monotone):
    """A monotone measure of joint classes: joint k, joint distinct l.

    Each joint class of a specialization lies within one of the node, and has no larger value. Where one breaks a
    constraint, the whole class around it is suppressed. So the rows of all joint classes that break it in the node are
    suppressed in every specialization, and others may be. Suppressed rows can form joint classes of their own, which
    only lower the value.
    """

    def tops(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        nothing = np.empty(0, dtype=np.int64)
        some = replace(below, small=nothing, gone=nothing[np.newaxis])
        found = []
        for one in classes:
            joint = divided(one)
            found.append(fewest_unavoidable(self.measure.of_classes(joint), joint, some)[0])
        return np.array(found)

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        return np.repeat(self.tops(classes, below), len(below) if len(classes) == 1 else 1)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        gone = np.zeros(len(classes.sizes), dtype=np.int64)
        for first, one in zip(classes.starts, classes, strict=False):
            joint = divided(one)
            assert joint.nodes is not None
            broken = ~constraint.keeps(self.measure.of_classes(joint))
            np.add.at(gone, first + joint.nodes[broken, 0] - 1, joint.sizes[broken])
        return gone
