"""The suite on invented instances, against the package and the definitions."""

import numpy as np
import pytest

from benchmarks.suite.package import in_whole_numbers, of_package
from pymoo_anon import suite
from pymoo_anon.suite.verify import Space

MEASURES = ("k", "l", "S_k", "S_l", "classes", "GLM", "CM", "DM")


def random_nodes(rng, first, last):
    """Build a tree over two or more values, perhaps with subtrees."""
    nodes = [[first, last]]
    middle = int(rng.integers(first, last))
    for begin, end in ((first, middle), (middle + 1, last)):
        if begin < end and rng.random() < 0.7:
            nodes += random_nodes(rng, begin, end)
    return nodes


def random_instance(rng):
    """Build a small instance with all measures and two constraints."""
    bits = rng.random() < 0.4
    sizes = rng.integers(1, 5, 3) if bits else rng.integers(1, 9, 3)
    sizes[0] = max(sizes[0], 2)
    rows = np.unique(rng.integers(0, [*sizes, 3, 2], (rng.integers(1, 40), 5)), axis=0)
    attributes = [{"name": f"a{j}", "values": int(size)} for j, size in enumerate(sizes)]
    for own in [] if bits else attributes:
        n = own["values"]
        own["levels"] = [list(range(n)), [value // 2 for value in range(n)], [0] * n]
    for own in attributes if bits else []:
        if own["values"] > 1 and rng.random() < 0.5:
            own["nodes"] = random_nodes(rng, 0, own["values"] - 1)
    read = {"l": "s", "S_l": "s", "CM": "t"}
    counts = rng.integers(1, 5, len(rows))
    n, rule = int(counts.sum()), str(rng.choice(["at most", "below", "violating"]))
    limits = [1, min(4, n), n // 2 + 1, n] if rule == "below" else [0, min(1, n - 1), n // 2, n - 1]
    return {
        "name": "random",
        "about": "",
        "space": "bits" if bits else "levels",
        "attributes": attributes,
        "objectives": [{"measure": own, "column": read[own]} if own in read else {"measure": own} for own in MEASURES],
        "constraints": [
            {"measure": "k", "at least": 3},
            {"measure": "l", "column": "s", "at least": 2},
            {"measure": "l", "column": "s", "at most": 2},
        ],
        "suppression": {"rule": rule, "limit": int(rng.choice(limits))},
        "unit": 840,
        "budgets": [10, 40],
        "rows": {f"a{j}": rows[:, j].tolist() for j in range(3)},
        "columns": {"s": rows[:, 3].tolist(), "t": rows[:, 4].tolist()},
        "counts": counts.tolist(),
    }


def is_cut(told, x):
    """Check by definition that each group is one value or a node."""
    bits = iter(x)
    for own in told["attributes"]:
        groups = [[0]]
        for value in range(1, own["values"]):
            groups += [[value]] if next(bits) else []
            groups[-1] += [value] if groups[-1] != [value] else []
        nodes = [list(range(first, last + 1)) for first, last in own.get("nodes", [])]
        if "nodes" in own and not all(len(group) == 1 or group in nodes for group in groups):
            return False
    return True


def points(upper, n, rng):
    return np.vstack([0 * upper, upper, rng.integers(0, upper + 1, (n, len(upper)))])


def test_the_suite_counts_as_the_package_does():
    """Compare random instances under any suppression, with every measure and constraint."""
    rng = np.random.default_rng(1)
    all_lost = invalid = 0
    for _ in range(150):
        made = random_instance(rng)
        instance = suite.Instance(made)
        engine = of_package(instance)
        X = points(instance.upper, 4, rng)
        values, excess = instance.evaluate(X)
        assert excess.shape == (len(X), instance.n_constraints)
        valid = np.array([not instance.has_taxonomies or is_cut(made, x) for x in X.tolist()])
        invalid += np.count_nonzero(~valid)
        if instance.has_taxonomies:
            # Strings that are no cuts break the last constraint.
            assert np.array_equal(excess[:, -1] <= 0, valid)
            excess = excess[:, :-1]
        for x in X[~valid].tolist():
            with pytest.raises(ValueError, match="is no point: no cut of the taxonomy of a"):
                instance.at(x)
        for x, own, over in zip(X[valid].tolist(), values[valid].tolist(), excess[valid].tolist(), strict=True):
            assert instance.at(x) == (own, over)
        F, G = engine.evaluate(X[valid].astype(engine.vtype), return_values_of=["F", "G"])
        assert np.array_equal(in_whole_numbers(instance, engine, F), values[valid] * instance.signs)
        assert np.array_equal(G <= 0, excess[valid] <= 0)
        all_lost += np.count_nonzero(values[valid, MEASURES.index("GLM")] == 3 * 840 * instance.n_persons)
    assert all_lost > 10
    assert invalid > 10


def test_more_combinations_than_a_number_holds_are_counted():
    """Use nine attributes of 256 values, beyond 64 bits."""
    rng = np.random.default_rng(4)
    made = random_instance(rng)
    levels = [list(range(256)), [value // 128 for value in range(256)], [0] * 256]
    made.update(
        space="levels",
        attributes=[{"name": f"a{j}", "values": 256, "levels": levels} for j in range(9)],
        rows={f"a{j}": rng.choice([0, 42, 255], 500).tolist() for j in range(9)},
        columns={name: rng.integers(0, 3, 500).tolist() for name in "st"},
        counts=[1] * 500,
        unit=255,
        suppression={"rule": "at most", "limit": 0},
    )
    instance = suite.Instance(made)
    engine = of_package(instance)
    X = np.array([[0] * 9, [0, 1, 1, 1, 1, 1, 1, 1, 1], [1] * 9])
    F = engine.evaluate(X, return_values_of=["F"])
    assert np.array_equal(in_whole_numbers(instance, engine, F), instance.evaluate(X)[0] * instance.signs)


def test_a_walk_of_the_verifier_meets_every_point():
    rng = np.random.default_rng(2)
    for _ in range(10):
        space = Space(random_instance(rng))
        upper = suite.Instance(space.told).upper
        every = np.stack(np.meshgrid(*[np.arange(top + 1) for top in upper], indexing="ij"), -1).reshape(-1, len(upper))
        cuts = [x for x in every.tolist() if not space.bits or is_cut(space.told, x)]
        assert len(cuts) == space.n_points
        assert sorted(map(str, space.walk())) == sorted(str(space.at(x)) for x in cuts)


def test_strings_that_are_no_cuts_break_a_constraint():
    """Use nine drugs with the nodes 0–3, 4–8 and 6–8."""
    problem = suite.load("pharmacy-trees-k-l-GLM-CM-s20-v1")
    strings = np.zeros((4, problem.n_var))
    strings[1, 3] = strings[2, 4] = strings[3, [0, 5]] = 1
    assert problem.n_ieq_constr == 1
    assert problem.evaluate(strings, return_values_of=["G"]).tolist() == [[0], [0], [2], [1]]
