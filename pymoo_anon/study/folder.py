"""The folder of a search: project, front and choice, also of audiences."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pymoo_anon._files import content_of, tried
from pymoo_anon._messages import counted, examples
from pymoo_anon.problems.arguments import as_json, bound, checked_constraints
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study.interrupt import put_in_place
from pymoo_anon.study.names import ALGORITHMS, CHOICE, FILES, FRONT, JOURNAL, RECORD, RELEASES, STORED
from pymoo_anon.study.options import Settings, command, numeral
from pymoo_anon.study.project import Project, read_project
from pymoo_anon.study.stored import Released, Stored, as_written, bound_text, read_record, read_releases, read_search
from pymoo_anon.study.tables import constraint, demanded, problem_of, table_of
from pymoo_anon.table.domain_values import is_whole
from pymoo_anon.table.generalization import Constraint, Decoded
from pymoo_anon.table.microdata import Microdata

if TYPE_CHECKING:
    from typing_extensions import Self


class SearchFolder:
    """Folder of a search up to its choice. Its parts are read and checked as those of a `Study`."""

    def __init__(self, project: Project, folder: Path | None = None, audience: str | None = None) -> None:
        #: The content of the project file.
        self.project = project if audience is None else project.for_audience(audience)
        #: The audience of the project to which the choice and the release are, or None.
        self.audience = audience
        #: The folder of the search.
        self.folder = project.output if folder is None else folder

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a search by its folder or project file.

        Raises:
            ValueError: The folder holds no search of a project, or the project file is missing or wrong. `record` tells
                whether it was searched.
        """
        folder = Path(path)
        if not folder.is_dir():
            return cls(read_project(folder))
        record = folder / RECORD
        if not record.is_file():
            raise ValueError(f"{folder} must be the folder of a search, got one without {RECORD}; name a project file")
        file = Path(os.path.normpath(folder / read_record(record)["project"]["file"]))
        if not file.is_file():
            raise ValueError(f"{file} must be the project file of the search in {folder}, got none; name that file")
        return cls(read_project(file), folder)

    @property
    def named(self) -> Path:
        """The project file or folder that names the search in commands."""
        return self.project.path if self.folder == self.project.output else self.folder

    def for_audience(self, name: str | None) -> Self:
        """Return the same folder for an audience, or for none."""
        if name == self.audience:
            return self
        made, shared = type(self)(read_project(self.project.path), self.folder, name), ("record", "_stored", "table")
        vars(made).update({part: own for part, own in vars(self).items() if part in shared})
        return made

    # --- the front of a search ----------------------------------------------------------------------------------------

    @cached_property
    def record(self) -> dict[str, Any]:
        """Record of the search: options, algorithm, checksums, versions.

        Raises:
            ValueError: There is none, or data or project file have changed since.
        """
        for path in (self.folder / FRONT, self.folder / RECORD):
            if not path.is_file():
                own = self.project.path
                hint = f"search {own}" + " --resume" * (self.folder / JOURNAL).exists()
                raise ValueError(f"there is no front of {own}: {path} is missing; pymoo-anon {hint} writes it")
        record = read_record(self.folder / RECORD)
        if changed := self.project.changed(record):
            raise ValueError(
                f"the front in {self.folder} is out of date, changed since: {', '.join(changed)}; search again"
            )
        return record

    @cached_property
    def _stored(self) -> Stored | None:
        path, sha256 = self.folder / STORED, self.record["front"].get(STORED)
        if sha256 is None:
            return None
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != sha256:
            got = "another file" if data else "none"
            raise ValueError(f"{path} must be what the search in {self.folder} wrote, got {got}; search again")
        with as_written(path, "search wrote", "; search again"):
            return read_search(data, self.project)

    @cached_property
    def table(self) -> Microdata:
        """The table with its hierarchies."""
        return table_of(self.project) if self._stored is None else self._stored.table

    @cached_property
    def problem(self) -> Any:
        """The problem that was searched."""
        own = problem_of(self.table, self.record["options"])
        return own if self.audience is None else self._problem_for(self.audience, own)

    @cached_property
    def front(self) -> Front:
        """The front of the search.

        Raises:
            ValueError: It is damaged or of other data.
        """
        if self.audience is not None:
            return self.audience_search[0]
        record, content = self.record, content_of(self.folder / FRONT)
        if hashlib.sha256(content).hexdigest() != record["front"]["sha256"]:
            told = f"{self.folder / FRONT} has changed since the search: its checksum in {self.folder / RECORD} differs"
            raise ValueError(f"{told}; search again")
        # As text, so that every number is the one that was written.
        stored, certified = self._stored, record["certified"]
        try:
            heading, *lines = csv.reader(StringIO(content.decode(), newline=""), strict=True)
            written = [dict(zip(heading, line, strict=True)) for line in lines]
            names = list(self.table.quasi_identifiers)
            if lacking := [name for name in names if name not in heading]:
                raise ValueError(f"it must have a column for each quasi-identifier, got none for {examples(lacking)}")
            if isinstance(self.problem, LatticeProblem):
                X = np.array([[numeral(name, row[name]) for name in names] for row in written])
            else:
                X = np.array(record["front"].get("x", []))
                if len(X) != len(written):
                    raise ValueError(f"{self.folder / RECORD} must hold its {len(written)} points, got {len(X)}")
            X = X.reshape(-1, self.problem.n_var)
            if stored is None:
                return Front(self.problem, X, certified=certified)
            return stored.front(self.problem, X, certified)
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{self.folder / FRONT} must be a front of {self.project.path}: {error}") from None

    @property
    def recodings(self) -> list[Decoded]:
        """Recoding of each point of the front."""
        return [self.problem.decode(x) for x in self.front.X]

    # --- the choice ---------------------------------------------------------------------------------------------------

    def refusals(self, require: Sequence[Constraint] = ()) -> list[str | None]:
        """Return for each point why it cannot be released, or None if it can."""
        return [self.front.refusal(place, self.project.suppressed, require) for place in range(len(self.front))]

    def pick(self, require: Sequence[Constraint] = (), *, row: int | None = None, **ways: Any) -> Choice:
        """Choose a point that can be released, and write it beside the front.

        A row of the front counts from 1. Other `ways` are `best`, `knee` and `weights`, as in `Front.choose`.

        Raises:
            TypeError: A bound is no constraint, or as in `Front.choose`.
            ValueError: No such point can be released, or the study is for an audience.
        """
        if self.audience is not None:
            raise ValueError(f"audience {self.audience!r} gets the least loss that holds: nobody picks a point for it")
        front, require = self.front, checked_constraints(require, self.table)
        front.meet(require)
        refusals = self.refusals(require)
        if row is not None:
            self._check_row(row)
            if (why := refusals[row - 1]) is not None:
                raise ValueError(f"row {row} cannot be released: {why}; pick another row")
        offered = self.front.offered(refusals)
        if len(front) and not len(offered):
            raise ValueError(f"no point of the front's {len(front)} can be released. Row 1: {refusals[0]}")
        choice = offered.choose(require=require, row=None if row is None else row - 1, **ways)
        self._write_choice(choice)
        self.choice = choice
        return choice

    def passed_over(self, choice: Choice, *, row: int | None = None, **ways: Any) -> str:
        """Tell why a better point with the same requirements cannot be released. No point is better than a `row`."""
        front, bounds = self.front, choice.requirements
        wanted = choice if row is not None else front.choose(require=bounds, **ways)
        if not bounds or wanted.row == choice.row:
            return ""
        why = front.refusal(front.place_of(wanted), self.project.suppressed, bounds)
        # Knees and weighted shortfalls are others where more points are compared.
        return "" if why is None else f"Row {wanted.row + 1} fits better, but {why}."

    def point(self, row: int | None = None) -> Choice:
        """Return the choice, or the point of a row from 1.

        Raises:
            ValueError: There is no such row, or no point is chosen.
        """
        if row is None:
            return self.choice
        self._check_row(row)
        return self.front.choose(row=row - 1)

    def _check_row(self, row: int) -> None:
        if not is_whole(row) or not 1 <= row <= len(self.front):
            raise ValueError(f"row must be from 1 to {len(self.front)}, a row of the front, got {row!r}")

    def _write_choice(self, choice: Choice) -> None:
        point: dict[str, Any] = {"x": list(choice.x)}
        if isinstance(self.problem, LatticeProblem):
            point = {"levels": dict(zip(map(str, self.table.quasi_identifiers), choice.x, strict=True))}
        content = {
            "row": choice.row + 1,
            **point,
            "values": {name: as_json(value) for name, value in choice.values.items()},
            "suppressed": choice.n_suppressed,
            "reason": choice.reason,
            "requirements": [bound_text(one) for one in choice.requirements],
            "front": {"rows": len(self.front), "sha256": self.record["front"]["sha256"]},
        }
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        with tried(self.folder, [CHOICE], self.project.files) as temporary:
            (temporary / CHOICE).write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")
            put_in_place(temporary, self.folder, [CHOICE])

    @cached_property
    def choice(self) -> Choice:
        """The chosen point, its reason and its requirements.

        Raises:
            ValueError: No point is chosen, or it is of another front.
        """
        path, front = self.folder / CHOICE, self.front
        if self.audience is not None:
            offered = self.front.offered(self.refusals())
            # A release refuses other points, or says why it was made anyway. Else the least loss is taken.
            offered = offered if len(offered) else front
            return offered.choose(row=int(offered.rows[0])) if len(offered) == 1 else offered.choose()
        if not path.is_file():
            hint = f"{path} is missing; {command('pick', self.named)} writes it"
            raise ValueError(f"no point of {self.named} is chosen: {hint}")
        with as_written(path, "pick wrote"):
            content = json.loads(content_of(path))
            row, sha256, asked = content["row"], content["front"]["sha256"], list(map(str, content["requirements"]))
            levels = list(content["levels"].values()) if "levels" in content else list(content["x"])
            reason = str(content["reason"])
        if sha256 != self.record["front"]["sha256"]:
            raise ValueError(f"{path} was chosen from another front than {self.folder / FRONT}: pick again")
        if type(row) is int and row > (n := len(front)):
            # The point was made for its requirements, at another row where others were made before it.
            front.meet(self.constraints(asked))
            row = next((place for place, x in enumerate(front.X.tolist()[n:], start=n + 1) if x == levels), row)
        if type(row) is not int or not 1 <= row <= len(front) or levels != front.X[row - 1].tolist():
            raise ValueError(
                f"{path} must hold a row of the front and its levels, got row {row!r:.80} and {levels!r:.80}"
            )
        try:
            choice = front.choose(row=row - 1, require=self.constraints(asked))
        except ValueError as error:
            raise ValueError(f"{path} must hold what the chosen point meets, got {asked!r:.80}: {error}") from None
        return replace(choice, reason=reason)

    def explained(self) -> list[str]:
        """Explain the choice: its reason, its requirements, and the cost of other points."""
        # It loads the comparison of releases, which no other choice needs.
        from pymoo_anon.publishing.explaining import explain

        front, choice = self.front, self.choice
        place, refusals = front.place_of(choice), self.refusals(choice.requirements)
        refused = [f"Row {row}: {why}." for row, why in enumerate(refusals, start=1) if why]
        told = [f"{counted(len(refused), 'point', 'points')} cannot be released. {refused[0]}"] if refused else []
        required = front.requirements(place, choice.requirements)
        compared = front if refusals[place] else front.offered(refusals)
        lines = str(explain(self.problem, compared, choice, suppressed=self.project.suppressed)).splitlines()
        return [f"It is {choice.reason}.", *told, *(f"Required: {own}." for own in required), *lines]

    def constraints(self, texts: Sequence[str]) -> tuple[Constraint, ...]:
        """Return the constraints of some texts."""
        return tuple(constraint(text, self.table, self.problem.measured) for text in texts)

    # --- releases and audiences ---------------------------------------------------------------------------------------

    @property
    def releases(self) -> list[Released]:
        """The recorded releases, the last one last, also those that others make meanwhile."""
        path = self.folder / RELEASES
        return read_releases(path) if path.is_file() else []

    def path_of(self, one: Released) -> Path:
        """Return the path of a release, or that of its documents."""
        return self.project.path.parent / one.file

    def released_at(self, path: Path) -> Released | None:
        """Return the last record of a release with a path."""
        return next((one for one in reversed(self.releases) if self.path_of(one) == path), None)

    @property
    def files(self) -> list[Path]:
        """The files that a release is made of, which none replaces."""
        return [*self.project.files, *(self.folder / name for name in FILES)]

    def _problem_for(self, audience: str, problem: Any) -> Any:
        """Return the problem of an audience.

        A local recoding is inside the releases before it. Levels of whole columns are beside them, and hold the bounds
        on single classes jointly.
        """
        names = list(self.project.audiences)
        names = names[: names.index(audience) + 1]
        demands = [demanded(self.project, problem, name) for name in names]
        if not isinstance(problem, LatticeProblem):
            # It loads the local recodings.
            from pymoo_anon.problems.releases import nested

            try:
                return nested(problem, demands)[-1].problem
            except ValueError as error:
                raise ValueError(f"audience {audience!r} needs releases inside one another: {error}") from None
        beside, bounds = [self._before(name) for name in names[:-1]], [*problem.constraints, *demands[-1]]
        return LatticeProblem(
            problem.table, problem.objectives, problem.suppression, bounds, levels=problem.levels, beside=beside
        )

    def _before(self, name: str) -> Choice:
        """Return the choice for an earlier audience, as it was released if it was."""
        other = self.for_audience(name)
        x = next((one.x for one in reversed(self.releases) if one.audience == name), None)
        if x is None:
            return other.choice
        front = Front(other.problem, np.array([x]))
        if len(front) == 0:
            raise ValueError(
                f"audience {self.audience!r} comes after {name!r}, whose release misses what it requires by now; "
                "release that again"
            )
        return front.choose(row=0)

    @cached_property
    def audience_search(self) -> tuple[Front, Mapping[str, Any]]:
        """The front of the audience, and facts about its search.

        Of local recodings it has one point. Levels are searched as the project says, without a time limit.
        """
        problem, record = self.problem, self.record
        if not isinstance(problem, LatticeProblem):
            return problem.front([problem.x_of(0)]), record
        # No other audience is searched.
        from pymoo_anon.study.search import algorithm_for, search

        options, searched_by = record["options"], record["algorithm"]["name"]
        known = {name: options[name] for name in ("generations", "pop_size", "epsilon", "seed")}
        # A proof that was quick may be slow here, or refuse joint measures.
        again = [own for own, method in ALGORITHMS.items() if not method.proves]
        settings = Settings(algorithm=searched_by if searched_by in again else options["algorithm"], **known)
        name, _ = algorithm_for(problem, settings)
        found = search(problem, name, settings)
        if found.interrupted:
            raise KeyboardInterrupt
        if len(found.front) == 0:
            bounds = " and ".join(bound(one, problem.names[one.objective]) for one in problem.constraints)
            others = " beside the releases before it" * (problem.beside_parts is not None)
            among = "" if found.front.certified else f" among the {problem.n_unique:,} that were visited"
            raise ValueError(
                f"audience {self.audience!r} needs a generalization with {bounds}{others}, got none{among}; require "
                "less, allow more suppression, or name the audience with the coarsest release first"
            )
        proof = {"certified": found.front.certified, "n_undecided": found.n_undecided, "stopped": found.stopped}
        return found.front, {"algorithm": {"name": name}, **proof}
