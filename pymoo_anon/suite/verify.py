"""Recount of the suite's fronts and certificates by numpy.

    python verify.py FOLDER [NAME ...] [--most POINTS]

FOLDER holds `instances`, `fronts`, `results` and `certificates`. The program imports nothing else of the package. It
checks of every instance that

- the certificate has the hashes of the instance and the front (with any line ends), and the right numbers;
- the instance is well formed: values in their domains, no repeated row, levels that only merge, taxonomies as trees;
- every member of the front has its stored values, satisfies all constraints, and is not dominated;
- the front in MOrepo's format is the same;
- no point of the search space is missing, in spaces of at most POINTS points (a million by default).

Larger search spaces cannot be recounted. Their completeness rests on the proof named in the certificate. The program
prints a line per instance, and exits with 1 if it found a fault.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# This program imports nothing else of the package.
Integers = NDArray[np.int64]

# Number of points compared with the front at once.
_COMPARED_AT_ONCE = 2000

_LARGER_IS_BETTER = {"k", "l", "S_k", "S_l", "classes"}


class State(NamedTuple):
    """Distinct rows after the first attributes are generalized, as (n,) arrays."""

    part: Integers  # Class by the generalized attributes, ascending
    rest: Integers  # Number of the combination of values in all other attributes and columns
    cost: Integers  # Loss per person in the generalized attributes
    persons: Integers  # Number of persons


class Space:
    """An instance, and a walk over its points attribute by attribute."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.attributes = [own["name"] for own in told["attributes"]]
        self.sizes = [int(own["values"]) for own in told["attributes"]]
        self.codes = [np.array(told["rows"][name], dtype=np.int64) for name in self.attributes]
        self.columns = {name: np.array(values, dtype=np.int64) for name, values in told["columns"].items()}
        self.counts = np.array(told["counts"], dtype=np.int64)
        self.n_persons = int(self.counts.sum())
        # Number the combinations of values in the attributes from j on and all columns, from the last attribute back.
        self.values, rest = np.unique(np.stack([*self.columns.values(), 0 * self.counts]), axis=1, return_inverse=True)
        rest = rest.reshape(-1)
        self.n_rests = [self.values.shape[1]]
        self.code_of: list[Integers] = []
        self.next_of: list[Integers] = []
        for codes in reversed(self.codes):
            keys, first, now = np.unique(codes * self.n_rests[0] + rest, return_index=True, return_inverse=True)
            self.code_of.insert(0, codes[first])
            self.next_of.insert(0, rest[first])
            self.n_rests.insert(0, len(keys))
            rest = now.reshape(-1)
        self.start = State(0 * rest, rest, 0 * rest, self.counts)
        self.bits = told["space"] == "bits"
        self.rule, self.limit = told["suppression"]["rule"], told["suppression"]["limit"]
        self.n_var = sum(self.sizes) - len(self.sizes) if self.bits else len(self.sizes)
        # 1 for minimised objectives, -1 for the others.
        self.signs = np.array([-1 if own["measure"] in _LARGER_IS_BETTER else 1 for own in told["objectives"]])
        # First and last value of the nodes of each taxonomy, or None for an attribute without one.
        self.nodes = [own.get("nodes") for own in told["attributes"]]

    @property
    def n_points(self) -> int:
        """Number of points."""
        if not self.bits:
            return prod(len(list(own["levels"])) for own in self.told["attributes"])
        # Number of ways to group the values from each start to the end, from the last start back.
        ways = [[1] * (size + 1) for size in self.sizes]
        for j, own in enumerate(ways):
            for start in reversed(range(self.sizes[j])):
                own[start] = sum(own[end] for end in self.ends(j, start))
        return prod(own[0] for own in ways)

    def ends(self, j: int, start: int) -> list[int]:
        """Return the possible starts of the next group."""
        if (nodes := self.nodes[j]) is None:
            return list(range(start + 1, self.sizes[j] + 1))
        return [start + 1, *(last + 1 for first, last in nodes if first == start)]

    def choices(self, j: int, start: int = 0) -> Iterator[Integers]:
        """Yield all groupings of attribute j from `start` on."""
        if not self.bits:
            yield from (np.array(level) for level in self.told["attributes"][j]["levels"])
        elif start == self.sizes[j]:
            yield np.empty(0, dtype=np.int64)
        else:
            for end in self.ends(j, start):
                yield from (np.append([0] * (end - start), 1 + own) for own in self.choices(j, end))

    def groups(self, x: Sequence[int]) -> list[Integers]:
        """Return the group of every value, per attribute, valid or not."""
        if not self.bits:
            return [np.array(own["levels"][level]) for own, level in zip(self.told["attributes"], x, strict=True)]
        parts = np.split(np.array(x), np.cumsum([size - 1 for size in self.sizes])[:-1])
        return [np.concatenate([[0], np.cumsum(part)]) for part in parts]

    def n_strays(self, j: int, groups: Integers) -> int:
        """Count the groups of attribute j outside of its taxonomy."""
        if self.nodes[j] is None:
            return 0
        starts = [*np.flatnonzero(np.diff(groups, prepend=-1)).tolist(), len(groups)]
        return sum(end not in self.ends(j, start) for start, end in pairwise(starts))

    def step(self, state: State, j: int, groups: Integers) -> State:
        """Generalize attribute j, and merge equal rows."""
        codes, n_rests = self.code_of[j][state.rest], self.n_rests[j + 1]
        extents = np.bincount(groups)[groups] - 1
        cost = state.cost + (self.told["unit"] * extents // max(self.sizes[j] - 1, 1))[codes]
        part = state.part * (groups.max() + 1) + groups[codes]
        keys = part * n_rests + self.next_of[j][state.rest]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        part = keys[first] // n_rests
        numbered = np.cumsum(np.concatenate([[False], part[1:] != part[:-1]]))
        return State(numbered, keys[first] % n_rests, cost[order][first], np.add.reduceat(state.persons[order], first))

    def walk(self, state: State | None = None, j: int = 0) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the objectives and the constraint violations of all points."""
        state = self.start if state is None else state
        if j == len(self.sizes):
            yield self.measured(state)
        else:
            for groups in self.choices(j):
                yield from self.walk(self.step(state, j, groups), j + 1)

    def at(self, x: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the objectives and constraint violations of a point. ValueError says that it is none."""
        if len(x) != self.n_var or min(x) < 0 or (self.bits and max(x) > 1):
            raise ValueError(f"{list(x)} is no point")
        groups = self.groups(x)
        for j, own in enumerate(groups):
            if self.n_strays(j, own):
                raise ValueError(f"{list(x)} is no point: no cut of the taxonomy of {self.attributes[j]}")
        return self.measured(self.state(groups))

    def state(self, groups: Sequence[Integers]) -> State:
        """Generalize all attributes."""
        state = self.start
        for j, own in enumerate(groups):
            state = self.step(state, j, own)
        return state

    def measured(self, state: State) -> tuple[list[int], list[int]]:
        """Return the objectives and the constraint violations of fully generalized rows."""
        starts = np.flatnonzero(np.concatenate([[True], state.part[1:] != state.part[:-1]]))
        sizes, costs = np.add.reduceat(state.persons, starts), state.cost[starts]
        kept = self.kept(state, sizes)
        lost = int(sizes[~kept].sum())

        def value(wanted: dict[str, Any]) -> int:
            name = wanted["measure"]
            if name == "k":
                return int(sizes[kept].min()) if kept.any() else self.n_persons
            if name == "S_k":
                return int((sizes[kept] ** 2).sum()) + lost**2
            if name == "DM":
                return int((sizes[kept] ** 2).sum()) + lost * self.n_persons
            if name == "classes":
                return int(kept.sum()) + (lost > 0)
            if name == "GLM":
                return int((sizes * costs)[kept].sum()) + lost * len(self.sizes) * int(self.told["unit"])
            table = self._table(state, wanted["column"], len(sizes))
            if name == "l":
                return int((table[kept] > 0).sum(axis=1).min()) if kept.any() else int((table.sum(axis=0) > 0).sum())
            if name == "S_l":
                return int((table[kept] ** 2).sum() + (table[~kept].sum(axis=0) ** 2).sum())
            if name == "CM":
                return self.n_persons - int(table[kept].max(axis=1).sum())
            raise ValueError(f"{name!r} is no measure")

        over = [
            own["at least"] - value(own) if "at least" in own else value(own) - own["at most"]
            for own in self.told["constraints"]
        ]
        over += [lost - self.limit] if self.rule == "violating" else []
        return [value(own) for own in self.told["objectives"]], over

    def kept(self, state: State, sizes: Integers) -> NDArray[np.bool_]:
        """Return the mask of the classes not suppressed."""
        kept: NDArray[np.bool_] = sizes >= (self.limit if self.rule == "below" else 1)
        if self.rule == "at most":
            # Classes of one size are suppressed together, the smallest first, up to the limit of persons.
            different, place, number = np.unique(sizes, return_inverse=True, return_counts=True)
            kept = (np.cumsum(different * number) > self.limit)[place]
        for own in self.told["constraints"] if self.rule == "violating" else []:
            if own["measure"] == "k" and "at least" in own:
                kept &= sizes >= own["at least"]
            if own["measure"] == "l" and "at least" in own:
                kept &= (self._table(state, own["column"], len(sizes)) > 0).sum(axis=1) >= own["at least"]
        return kept

    def _table(self, state: State, column: str, n_classes: int) -> Integers:
        """Return the (n_classes, n_values) array of counts of a column's values."""
        values = self.values[list(self.columns).index(column)][state.rest]
        width = int(self.columns[column].max()) + 1
        cells = np.bincount(state.part * width + values, weights=state.persons, minlength=n_classes * width)
        return cells.astype(np.int64).reshape(n_classes, width)


def faults(folder: Path, name: str, most: int = 10**6) -> tuple[list[str], str]:
    """Return the faults of an instance, and the extent of the recount. More points than `most` are not visited."""
    try:
        certificate = json.loads((folder / "certificates" / f"{name}.json").read_text(encoding="utf-8"))
        (instance,) = folder.glob(f"instances/json/*_{name}.json")
        (result,) = folder.glob(f"results/*_{name}_result.json")
        front = folder / "fronts" / f"{name}.csv"
        found = [
            f"the hash of the {what} is not the certificate's"
            for what, path in (("instance", instance), ("front", front))
            if digest(path) != certificate[f"{what} sha256"]
        ]
        space = Space(json.loads(instance.read_text(encoding="utf-8")))
        found += malformed(space, name)
        if found:
            return found, ""
        header, *lines = front.read_text(encoding="utf-8").splitlines()
        members = np.array([[int(word) for word in line.split(",")] for line in lines])
        X, values = members[:, : space.n_var], members[:, space.n_var :]
        if values.shape[1] != len(space.told["objectives"]) or header.count(",") + 1 != members.shape[1]:
            return [*found, "the front has another number of columns"], ""
        found += wrong_numbers(certificate, space, len(members), name)
        found += wrong_members(space, X, values)
        found += wrong_result(json.loads(result.read_text(encoding="utf-8")), instance.stem, space, values)
        if found or space.n_points > most:
            return found, f"{len(members)} members recounted"
        found = not_covered(space, values * space.signs)
        return found, f"{len(members)} members and all {space.n_points:,} points recounted"
    except Exception as error:
        # A broken file must not end the check of the other instances.
        return [f"its files cannot be read: {type(error).__name__}: {error}"], ""


def digest(path: Path) -> str:
    """Return the sha256 of a file with newlines as line ends."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def malformed(space: Space, name: str) -> list[str]:
    """Return the faults of the instance itself."""
    found = [] if space.told["name"] == name else ["the instance has another name"]
    outside = [(codes < 0) | (codes >= size) for codes, size in zip(space.codes, space.sizes, strict=True)]
    if np.any([*outside, *(values < 0 for values in space.columns.values())]):
        found.append("a row holds a value that is not in its domain")
    if (space.counts < 1).any():
        found.append("a row counts nobody")
    rows = np.stack([*space.codes, *space.columns.values()])
    if np.unique(rows, axis=1).shape[1] < len(space.counts):
        found.append("a row is there twice")
    for own in space.told["attributes"]:
        if "nodes" in own and (not space.bits or not is_tree(own["nodes"], own["values"])):
            found.append(f"the nodes of {own['name']} are no tree over its values")
        levels = [np.arange(own["values"])] if space.bits else [np.array(level) for level in own["levels"]]
        if any(len(level) != own["values"] for level in levels) or len(np.unique(levels[0])) != own["values"]:
            found.append(f"the first level of {own['name']} is not its values")
        for below, above in pairwise(levels):
            if len(set(zip(below.tolist(), above.tolist(), strict=True))) != len(np.unique(below)):
                found.append(f"a level of {own['name']} does not merge the groups of the level below")
    if space.rule not in ("at most", "below", "violating"):
        found.append(f"no rule of suppression is called {space.rule!r}")
    if any(space.told["unit"] % max(size - 1, 1) for size in space.sizes):
        found.append("the unit does not make the loss whole")
    return found


def is_tree(nodes: list[list[int]], size: int) -> bool:
    """Return whether runs of values nest below one root."""
    runs = all(0 <= first < last < size for first, last in nodes) and [0, size - 1] in nodes
    crossing = any(a < c <= b < d for a, b in nodes for c, d in nodes)
    return runs and not crossing and len(set(map(tuple, nodes))) == len(nodes)


def wrong_numbers(certificate: dict[str, Any], space: Space, n_members: int, name: str) -> list[str]:
    """Return the faults of the certificate's numbers."""
    right = {"name": name, "points": space.n_points, "members": n_members}
    found = [f"the certificate's {key} must be {value}" for key, value in right.items() if certificate[key] != value]
    if certificate["proof"] not in ("exhaustive", "branch and bound"):
        found.append(f"no proof is called {certificate['proof']!r}")
    least = space.n_points if certificate["proof"] == "exhaustive" else n_members
    if not least <= certificate["evaluated"] <= space.n_points:
        found.append("the certificate's number of evaluated points cannot be")
    return found


def wrong_members(space: Space, X: Integers, values: Integers) -> list[str]:
    """Return the members that are wrong, infeasible, or dominated."""
    found = []
    for x, told in zip(X.tolist(), values.tolist(), strict=True):
        own, over = space.at(x)
        if own != told:
            found.append(f"{x} has the values {own} and not {told}")
        if any(excess > 0 for excess in over):
            found.append(f"{x} breaks a constraint")
    F = values * space.signs
    for i, f in enumerate(F):
        if np.any(np.all(np.delete(F, i, axis=0) <= f, axis=1)):
            found.append(f"the member with the values {values[i].tolist()} is dominated or there twice")
    return found


def wrong_result(result: dict[str, Any], stem: str, space: Space, values: Integers) -> list[str]:
    """Return the differences of the front in MOrepo's format."""
    labels = [f"z{j}" for j in range(1, values.shape[1] + 1)]
    types = [point["type"] for point in result["points"]]
    right = {
        "instanceName": stem,
        "objectives": len(labels),
        "objectiveType": ["int"] * len(labels),
        "direction": ["max" if sign < 0 else "min" for sign in space.signs],
        "optimal": True,
        "valid": True,
        "card": len(values),
        "suppCard": len(types) - types.count("us"),
        "extCard": types.count("se"),
    }
    found = [f"the result's {key} must be {value}" for key, value in right.items() if result[key] != value]
    if [[point[label] for label in labels] for point in result["points"]] != values.tolist():
        found.append("the result's points are not those of the front")
    elif len(labels) == 2 and types != types_of_two(values * space.signs):
        found.append("the result's types are not those of its points")
    return found


def types_of_two(F: Integers) -> list[str]:
    """Return the type of every member, as MOrepo defines them for two objectives.

    "us" is above a line between two other members, "sne" on one, and "se" neither.
    """
    types = []
    for point in F:
        left, right = (F[side] - point for side in (F[:, 0] < point[0], F[:, 0] > point[0]))
        # The cross product is positive where the point lies above the line, on the far side from the best.
        turns = np.outer(left[:, 0], right[:, 1]) - np.outer(left[:, 1], right[:, 0])
        types.append("us" if (turns > 0).any() else "sne" if (turns == 0).any() else "se")
    return types


def not_covered(space: Space, F: Integers) -> list[str]:
    """Return the feasible points that the front leaves open."""
    found: list[str] = []
    feasible = (values for values, over in space.walk() if all(excess <= 0 for excess in over))
    while batch := list(islice(feasible, _COMPARED_AT_ONCE)):
        points = np.array(batch, dtype=np.int64) * space.signs
        covered = np.any(np.all(F[np.newaxis] <= points[:, np.newaxis], axis=2), axis=1)
        lacking = (points[~covered] * space.signs).tolist()
        found += [f"the front lacks a point with the values {own}" for own in lacking]
    return found


def check_folder(arguments: Sequence[str] | None = None) -> int:
    """Check the named instances, and return 1 on a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--most", type=int, default=10**6, metavar="POINTS")
    given = parser.parse_args(arguments)
    everything = {path.stem for path in given.folder.glob("fronts/*.csv")}
    everything |= {path.stem for path in given.folder.glob("certificates/*.json")}
    wrong = 0
    for name in given.names or sorted(everything):
        found, recounted = faults(given.folder, name, given.most)
        shown = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
        print(f"{name}: {'FAULT: ' + shown if found else 'holds; ' + recounted}", flush=True)
        wrong += bool(found)
    print(f"{wrong} with faults" if wrong else "no faults")
    return 1 if wrong or not (given.names or everything) else 0


if __name__ == "__main__":
    sys.exit(check_folder())
