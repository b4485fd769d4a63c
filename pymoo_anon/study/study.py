"""A search and its releases as one object."""

from __future__ import annotations

import json
import os
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pymoo_anon._files import check_free, replaced, tried
from pymoo_anon._messages import listed
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.problems.arguments import RefinementError
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.releases import Together, parts_beside, together
from pymoo_anon.publishing.codebook import codebook
from pymoo_anon.publishing.evidence import evidence, read_evidence, told_of, write_evidence
from pymoo_anon.publishing.recoding import decoded_point
from pymoo_anon.publishing.release import ANYWAY, Recoded, RecountError, Release, recode
from pymoo_anon.study import engines
from pymoo_anon.study.databases import new_database_table
from pymoo_anon.study.engines import check_target, write_table
from pymoo_anon.study.folder import SearchFolder
from pymoo_anon.study.interrupt import put_in_place
from pymoo_anon.study.names import RELEASES, Source, checksum, path_from, source_of
from pymoo_anon.study.options import command, excluded_by, record_of
from pymoo_anon.study.project import checksum_of
from pymoo_anon.study.stored import CODEBOOK, COMPARED, EVIDENCE, Released, agree, beside, bound_text
from pymoo_anon.study.tables import constraint, open_again, open_released, population_of
from pymoo_anon.table.generalization import Constraint


class Study(SearchFolder):
    """Folder of a search: project, table, problem, front, choice and releases.

    Each part is read when it is first used, once, and checked against the data and the project file: a front of other
    data raises ValueError. No rows are read before a release: the search has stored the distinct tuples.

    After a search of mine.toml in the folder front:

        study = Study.open("front")
        study.front.to_frame()
        study.pick([KAnonymity() >= 5], best=GeneralLossMetric())
        study.release("mine-release.csv")
        assert not any(study.verify().values())
    """

    @property
    def released(self) -> Path:
        """The last release of the chosen point, else the last one, or the one that the project names.

        By its own path or that of its documents.
        """
        own = (one for one in reversed(self.releases) if one.audience == self.audience)
        there = [one for one in own if is_there(self, self.path_of(one))]
        if len(there) > 1:
            # Without a choice the last one stays first.
            with suppress(ValueError):
                there.sort(key=lambda one: one.x != list(self.choice.x))
        return self.path_of(there[0]) if there else self.project.documents

    def release(
        self,
        output: str | os.PathLike[str] | None = None,
        *,
        table: str | None = None,
        row: int | None = None,
        suppressed: str | None = None,
        local: bool = False,
        lower_bound: int | None = None,
        anyway: str | None = None,
        show: Callable[[str], object] = lambda words: None,
    ) -> Release:
        """Write the table of a point with evidence and codebook, after a recount.

        Args:
            output: The file, by default as the project says. A file of this name is replaced. Or a database.
            table: The new table in the database, which must not be there.
            row: A row of the front, from 1, in place of the choice.
            suppressed: "mark" or "drop" suppressed rows, by default as the project says.
            local: Whether every class gets levels of its own.
            lower_bound: Passes of a bound on the least loss of a local search.
            anyway: Reason to release what breaks a requirement.
            show: Called with the words of each step.

        Raises:
            ValueError: The point cannot be released.
            RecountError: The recount of the written file contradicts a promise.
        """
        _check_recoding(self, local, lower_bound)
        with tried(self.folder, [RELEASES]):
            choice = self.point(row)
        asked: dict[str, Any] = {"suppressed": suppressed, "local": local, "output": output, "table": table}
        asked |= {"lower-bound": lower_bound, "anyway": anyway}
        target, paths = target_of(self, output, table)
        with tried(paths[0].parent, [path.name for path in paths], self.files) as temporary:
            new = temporary / target.documents(self.project.path.parent).name
            try:
                made = _recoded(self, choice, target.kind, suppressed, local, anyway)
            except RefinementError as error:
                raise ValueError(f"local {error.change}. Nothing was written.") from None
            with _written(self, made, target, new) as (again, sha256, moved):
                show("Step 3 of 4: counting again")
                release = made.counted_again(again)
                show("Step 4 of 4: writing evidence and codebook")
                release, told = _documented(self, new, choice, release, target, sha256, asked)
                moved += put_in_place(temporary, paths[0].parent, [path.name for path in paths])
        _remember(self, *told)
        return _readable(self, target, release)

    # --- counting again -----------------------------------------------------------------------------------------------

    def verify(self, show: Callable[[str], object] = lambda words: None) -> dict[Path, list[str]]:
        """Count all releases again, and return the broken promises of each.

        Args:
            show: Called with the words of each step.

        Raises:
            ValueError: There is no release, or the front is out of date.
        """
        paths = list(dict.fromkeys(map(self.path_of, self.releases)))
        if not paths and self.named == self.project.path:
            # Of a search in another folder it would be the release of another search.
            paths = [self.project.documents]
        if not any(is_there(self, path) for path in paths):
            missing = f"{paths[-1]} is missing; " if paths else ""
            raise ValueError(f"there is no release of {self.named}: {missing}{release_command(self)} writes it")
        # A front that is out of date is refused here, and not for each release.
        found, _ = {}, self.front
        for path in paths:
            show(f"Recoding and counting {path} again")
            found[path] = _broken_promises(self, path)
        return found

    # --- the report ---------------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> dict[str, Any] | None:
        """The evidence of the last release, or None if there is none."""
        path = beside(self.released, EVIDENCE)
        return read_evidence(path) if path.is_file() else None

    def report(
        self,
        output: str | os.PathLike[str],
        *,
        external: bool = False,
        threshold: float = 0.09,
        population: str | None = None,
        population_size: int | None = None,
        show: Callable[[str], object] = lambda words: None,
    ) -> dict[str, Any] | None:
        """Write one HTML file about the choice and its release, counted again.

        Args:
            output: The file. A file of this name is replaced.
            external: Whether it is for outsiders, from the released rows alone.
            threshold: Risk that is shown for comparison.
            population: A table of the population, as the project file names tables.
            population_size: Size of the population, by default as the project file says.
            show: Called with the words of each step.

        Returns:
            The evidence of the release, or None if the choice is not released.

        Raises:
            ValueError: The release is of another point, or does not hold.
        """
        # No other command draws it.
        from pymoo_anon.publishing.report.page import write_page
        from pymoo_anon.publishing.report.subject import checked_subject

        target, released = Path(output), self.released
        persons = None if population is None else population_of(self.project, self.table, population)
        show("Step 2 of 3: recoding and counting again")
        told, read = _evidence_of(self, self.choice), [released, beside(released, EVIDENCE), *self.files]
        with tried(target.parent, [target.name], read) as temporary:
            show("Step 3 of 3: writing the report")
            about = {"data": Path(str(self.project.data)).name, "release": released.name, **self.project.report}
            about |= {} if population_size is None else {"population_size": population_size}
            asked: Any = {"suppressed": self.project.suppressed, "threshold": threshold, "population": persons}
            choice = replace(self.choice, requirements=_promised(self, told, released))
            subject = checked_subject(self.front, choice, evidence=told, external=external, about=about, **asked)
            write_page(
                temporary / target.name, subject, lambda words: show(f"Step 3 of 3: writing the report, {words}")
            )
            put_in_place(temporary, target.parent, [target.name])
        return told


def target_of(study: Study, output: Any, table: str | None, force: bool = True) -> tuple[Source, list[Path]]:
    """Return the place of a release and its files, the evidence last. Without `force` none may be there."""
    target = study.project.release if output is None else source_of(os.fspath(output), Path(), table)
    if output is None and table is not None:
        raise ValueError(f"table must come with output, the place of a database, got {table!r} alone")
    check_target(target, study.project.reading)
    if told := study.project.alike(target):
        raise ValueError(told)
    own = target.documents(study.project.path.parent)
    paths = [*([own] if target.table is None else []), beside(own, CODEBOOK), beside(own, EVIDENCE)]
    check_free(paths, force)
    return target, paths


def report_of(study: Study, external: bool, output: Path | None, force: bool) -> Path:
    """Return the place of a report, usually beside the release. Without `force` none may be there."""
    target = output or study.released.with_suffix(".external.html" if external else ".report.html")
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"output must be a file that ends in .html, got {str(target)!r}")
    check_free([target], force)
    return target


@contextmanager
def _written(study: Study, made: Recoded, target: Source, new: Path) -> Iterator[tuple[Any, str, list[Path]]]:
    """Write a release, and yield it read again, with its checksum."""
    moved: list[Path] = []
    if target.table is None:
        write_table(made.frame, new, made.counted)
        yield open_again(study.project, target._replace(path=new)), checksum(new), moved
        return
    try:
        with new_database_table(target, made.frame) as found:
            again = engines.as_relation(found)
            yield again, engines.content_checksum(again), moved
    except BaseException:
        # A table that could not be committed has no documents.
        for path in moved:
            path.unlink()
        raise


def _readable(study: Study, target: Source, made: Release) -> Release:
    # The frame that was counted reads a file that has moved.
    is_file = target.kind in ("csv", "parquet")
    return replace(made, frame=open_again(study.project, target)) if is_file else made


def _source_at(study: Study, path: Path) -> Source:
    """Return the released table with documents beside a path."""
    own, one = study.project, study.released_at(path)
    if one is not None and one.database is not None:
        return source_of(one.database, own.path.parent, one.table)
    return own.release if own.documents == path else source_of(str(path), Path())


def _broken_promises(study: Study, path: Path, told: Mapping[str, Any] | None = None) -> list[str]:
    """Return the broken promises of a release to any audience, in words. Its evidence may be given."""
    one = study.released_at(path)
    try:
        study = study.for_audience(None if one is None else one.audience)
    except ValueError as error:
        # The project names no such audience any longer.
        return [str(error)]
    known = beside(path, EVIDENCE)
    if not is_there(study, path):
        return [f"is missing: put it back, or delete it in {study.folder / RELEASES}"]
    if not known.is_file():
        return [f"{known} is missing"]
    try:
        told = read_evidence(known) if told is None else told
        if checksum_of(_source_at(study, path)) != told["checksums"]["output"].get(path.name):
            return [f"the {'file' if path.is_file() else 'table'} has changed: its checksum differs"]
        return _counted_again(study, path, told)
    except ValueError as error:
        return [str(error)]


def _counted_again(study: Study, path: Path, told: Mapping[str, Any]) -> list[str]:
    source = _source_at(study, path)
    try:
        made = _recoded_again(study, told, path, source.kind).counted_again(open_again(study.project, source))
    except RecountError as error:
        return list(error.broken)
    found = told_of(study.problem, made)
    holds = agree(found["claims"], told["claims"]) and found["uniqueness"] == told["uniqueness"]
    return [] if holds else [f"{beside(path, EVIDENCE)} differs from the search and the recount"]


def _recoded_again(study: Study, told: Mapping[str, Any], path: Path, kind: str) -> Recoded:
    x = told["front"][told["chosen"]["place"]]["x"]
    # Requirements of the choice were promised, too, and the point may be made for them.
    asked = _promised(study, told, path)
    if asked:
        study.front.meet(asked)
    front = study.front if study.audience is None else Front(study.problem, np.array([x]))
    rows = [row for row, one in enumerate(front.X.tolist()) if one == x]
    if not rows:
        place = f"in the front of {study.folder}; search" if study.audience is None else "for its audience; release"
        raise ValueError(f"its point, {x}, is not {place} again")
    choice = replace(front.choose(row=rows[0]), requirements=asked)
    local = told["chosen"]["local"]
    is_refined = local is not None and local["refined"]
    return _recoded(study, choice, kind, told["suppressed"]["how"], is_refined, told["anyway"])


def _promised(study: Study, told: Mapping[str, Any] | None, path: Path) -> tuple[Constraint, ...]:
    """Return the requirements of the choice that a release was made of."""
    if told is not None and not told["chosen"]["requirements"]:
        return ()
    # The point may have been picked again for other reasons.
    own = None if told is None else study.released_at(path)
    known = None if own is None else own.requirements
    return study.choice.requirements if known is None else tuple(study.constraints(known))


def _evidence_of(study: Study, choice: Choice) -> dict[str, Any] | None:
    """Return the evidence of a point's last release, which must hold."""
    told, released = study.evidence, study.released
    if told is None:
        return None
    path, again = beside(released, EVIDENCE), f"{release_command(study)} --force"
    if told["front"][told["chosen"]["place"]]["x"] != list(choice.x):
        raise ValueError(f"{path} is about another point than the chosen; {again} releases that")
    if not is_there(study, released):
        raise ValueError(f"{released} is missing, and {path} is there; {again} writes both")
    if broken := _broken_promises(study, released, told):
        raise ValueError(f"{released} does not hold: {listed(broken)}; {again} writes it again")
    return _of_today(study, told)


def is_there(study: Study, path: Path) -> bool:
    """Return whether a released file is there, or the evidence of a table."""
    return (path if _source_at(study, path).table is None else beside(path, EVIDENCE)).is_file()


def verdict_of(study: Study, path: Path, broken: Sequence[str]) -> str:
    """Say whether a release holds, or name its broken promises."""
    return f"{'does not hold: ' * is_there(study, path)}{listed(broken)}" if broken else "holds"


def _check_recoding(study: Study, local: bool, lower_bound: int | None) -> None:
    """Raise on options for the other kind of recoding."""
    is_local, own = not isinstance(study.problem, LatticeProblem), study.project.path
    if lower_bound is not None and not is_local:
        raise ValueError(f"lower_bound needs a local search; the front of {own} has levels of whole columns")
    if local and is_local:
        raise ValueError(f"local cannot refine the front of {own}, which is local already")


def _entry_of(study: Study, choice: Choice, made: Release, target: Source, sha256: str) -> Released:
    folder, x = study.project.path.parent, [int(one) for one in choice.x]
    columns, bounds = made.columns.column.map(str).tolist(), [bound_text(one) for one in choice.requirements]
    own = path_from(folder, target.documents(folder)), sha256, x, made.suppressed, columns, made.recoding, bounds
    place, table = target.named_from(folder)
    return Released(*own, study.audience, None if table is None else place, table)


def _documented(
    study: Study, new: Path, choice: Choice, made: Release, target: Source, sha256: str, asked: Mapping[str, Any]
) -> tuple[Release, tuple[Released, _Others]]:
    """Write evidence and codebook, and return the release with its record and others."""
    known, project = study.record["project"], study.project
    trees = known["hierarchies"] | {name: checksum(file) for name, file in project.hierarchies("keep").items()}
    inputs, output = {Path(str(project.data)).name: known["data"]}, {new.name: sha256}
    done = _entry_of(study, choice, made, target, sha256)
    made, others = _beside_others(study, made, done, asked["anyway"])
    content = evidence(
        study.problem,
        study.front,
        choice,
        made,
        checksums={"input": inputs, "hierarchies": trees, "output": output},
        search=_search_of(study, choice, asked, others.together),
        earlier=_records_of(one for _, one in others.counted),
        made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    write_evidence(beside(new, EVIDENCE), content)
    how: Any = {"suppressed": made.suppressed, "recoding": made.recoding, "keep": project.kept}
    write_table(codebook(study.problem, choice, **how), beside(new, CODEBOOK))
    return made, (done, others)


def _recoded(
    study: Study, choice: Choice, kind: str, suppressed: str | None, is_refined: bool, anyway: str | None
) -> Recoded:
    """Recode the table of a project for a release of a kind."""
    project, frame = study.project, open_released(study.project, kind)
    return recode(
        frame,
        study.problem,
        choice,
        drop=project.with_role("drop", "identifier"),
        keep=project.kept,
        suppressed=suppressed or project.suppressed,
        recoding="local" if is_refined else None,
        anyway=anyway,
    )


def _remember(study: Study, done: Released, others: _Others) -> None:
    """Record a release, and warn of others."""
    records = [one._asdict() for one in [*(one for one in study.releases if one != done), done]]
    with replaced(study.folder / RELEASES) as path:
        path.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")
    for found, joint in (([one for _, one in others.counted], others.together), (others.uncounted, None)):
        if found:
            # The caller of `release` is warned.
            warnings.warn(_warning_of(study, found, joint), stacklevel=3)


def _of_other_searches(study: Study, own: Sequence[Released]) -> tuple[list[_Sourced], list[Released]]:
    """Find releases of the same data by other searches.

    Those that can be counted jointly come first, and then the others.
    """
    counted: list[_Sourced] = []
    uncounted: list[Released] = []
    data, known = study.record["project"]["data"], {study.path_of(one) for one in [*study.releases, *own]}
    # The same file tells nothing more.
    same = {one.sha256 for one in own}
    folders = dict.fromkeys(study.path_of(one).parent for one in own)
    for file in (file for folder in folders for file in sorted(folder.glob(f"*.{EVIDENCE}"))):
        path = file.with_name(file.name.removesuffix(f".{EVIDENCE}"))
        if data is None or path in known:
            continue
        # Files of other programs may have such a name.
        with suppress(ValueError, OSError):
            told = read_evidence(file)
            # Both files may have been renamed.
            [sha256] = told["checksums"]["output"].values()
            if data not in told["checksums"]["input"].values() or sha256 in same:
                continue
            name = path_from(study.project.path.parent, path)
            found = _with_its_search(study, told, file, sha256)
            if found is None:
                uncounted.append(Released(name, sha256, [], told["suppressed"]["how"], []))
            else:
                counted.append((found[0], found[1]._replace(file=name)))
    return counted, uncounted


def _with_its_search(study: Study, told: Mapping[str, Any], file: Path, sha256: str) -> _Sourced | None:
    """Return a release and its search. None means that it is gone or has other quasi-identifiers."""
    # The last command that made it names its search, often from a folder above its evidence.
    for folder in (Path(), *file.resolve().parents):
        with suppress(ValueError, OSError, LookupError):
            other = Study.open(folder / shlex.split(told["reproduce"][-1])[2])
            one = [one for one in other.releases if one.sha256 == sha256][-1]
            parts_beside([_classes_of_release(other, one)], study.table)
            return other, one
    return None


def _search_of(study: Study, choice: Choice, asked: Mapping[str, Any], told: Together | None) -> dict[str, Any]:
    passes, found = asked["lower-bound"], study.record if study.audience is None else study.audience_search[1]
    return {
        "algorithm": found["algorithm"]["name"],
        "seed": study.record["options"]["seed"],
        **{key: found[key] for key in ("certified", "n_undecided", "stopped")},
        "commands": _commands_of(study, choice, {**asked, "audience": study.audience}),
        "bound": None if passes is None else study.problem.lower_bound(np.array(choice.x), ("n_iter", passes)),
        "joint": None if told is None else told.as_record(),
    }


def _commands_of(study: Study, choice: Choice, asked: Mapping[str, Any]) -> list[str]:
    own, row, bounds = study.named, choice.row + 1, [bound_text(one) for one in choice.requirements]
    # Requirements are promised, too.
    picked = [command("pick", own, row=row, require=bounds)] if bounds else []
    made = command("release", own, row=None if bounds or asked["audience"] else row, **asked)
    return [command("search", study.project.path, **_typed(study)), *picked, made]


def _typed(study: Study) -> dict[str, Any]:
    """Return the options of a search that its project file does not give."""
    project, typed = study.project, dict[str, Any]()
    for name, usual in record_of(project.settings()).items():
        value = study.record["options"].get(name)
        if value not in (None, usual) and name not in ("output", "verbose"):
            typed[name] = value if isinstance(value, bool | list) else str(value)
    if "require" in typed:
        typed["require"] = [one for one in typed["require"] if one not in project.adversaries]
    # The file has options that those typed exclude.
    typed = {name: own for name, own in typed.items() if name not in excluded_by(typed)}
    return typed if study.named == project.path else {**typed, "output": study.folder}


def _warning_of(study: Study, others: Sequence[Released], told: Together | None) -> str:
    is_another = {True: "is another release of this table", False: "was another release of this table until now"}
    known = listed(f"{one.file} {is_another[_is_latest(study, one)]}" for one in others)
    who = f"{known}. Whoever has {'both' if len(others) == 1 else 'all of them'}"
    if told is None:
        return f"{who} can compare them, and find people that none of them reveals alone: publish only one"
    return f"{who} and links their rows sees {told}{': publish only one' * (told.k == 1)}"


#: A release with the search that made it.
_Sourced: TypeAlias = tuple[Study, Released]


class _Others(NamedTuple):
    """The other releases of a table."""

    counted: list[_Sourced]
    uncounted: list[Released]  # Their searches are gone, or have other quasi-identifiers
    together: Together | None  # Joint classes of the new release and those that are counted


def _beside_others(study: Study, release: Release, done: Released, anyway: str | None) -> tuple[Release, _Others]:
    """Return a new release, and the others of its table. A joint k of 1 is among its exceptions."""
    earlier = [one for one in study.releases if any(getattr(one, key) != getattr(done, key) for key in COMPARED)]
    others, uncounted = _of_other_searches(study, _latest([*study.releases, done]))
    counted = [*((study, one) for one in earlier), *others]
    found = _Others(counted, uncounted, _together(study, [(study, done), *counted]))
    # A release is not there any longer if its file was replaced.
    left = [(whose, one) for whose, one in counted if _is_latest(study, one) and one.file != done.file]
    told = found.together if len(left) == len(counted) else _together(study, [(study, done), *left])
    if told is None or told.k > 1 or not left:
        return release, found
    if anyway is None:
        files = listed(dict.fromkeys(one.file for _, one in left))
        raise ValueError(f"whoever has it beside {files} and links their rows would see {told}; {ANYWAY}")
    missed = f"joint k is {told.k} where at least 2 is required"
    return replace(release, anyway=anyway, exceptions=(*release.exceptions, missed)), found


def _latest(releases: Iterable[Released]) -> list[Released]:
    """Return the last release of each file."""
    return list({one.file: one for one in releases}.values())


def _is_latest(study: Study, one: Released) -> bool:
    return one in _latest([one, *study.releases])


def all_together(study: Study) -> tuple[int, Together | None]:
    """Return the number of different releases that are there, and their joint classes."""
    different = _different(study)
    return len(different), _together(study, different)


def _of_today(study: Study, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence with the other releases of today and their joint classes."""
    different = _different(study)
    joint, files = _together(study, different), told["checksums"]["output"]
    if joint is None:
        return dict(told)
    others = [one for _, one in different if Path(one.file).name not in files]
    return {**told, "earlier": _records_of(others), "joint": joint.as_record()}


def _records_of(releases: Iterable[Released]) -> list[dict[str, Any]]:
    return [{"point": None, **{key: getattr(one, key) for key in Released._fields[:4]}} for one in releases]


def release_command(study: Study) -> str:
    """Return the command of the release of a study."""
    return command("release", study.named, audience=study.audience)


def _different(study: Study) -> list[_Sourced]:
    """Return the different releases of which the files are there."""
    latest = _latest(one for one in study.releases if is_there(study, study.path_of(one)))
    own = list({str([getattr(one, key) for key in COMPARED]): one for one in latest}.values())
    others, _ = _of_other_searches(study, latest)
    there = ((whose, one) for whose, one in others if is_there(study, study.path_of(one)))
    return [*((study, one) for one in own), *there]


def classes_of_file(study: Study, file: Path) -> tuple[EquivalenceClasses, str]:
    """Return the classes of a recorded release, and its suppression."""
    for one in reversed(study.releases):
        if (path := study.path_of(one)).is_file() and file.samefile(path):
            if checksum(file) != one.sha256:
                raise ValueError(f"{file} has changed since its release: its checksum differs; release it again")
            return _classes_of_release(study, one), one.suppressed
    raise ValueError(f"{file} must be a release of {study.named}, got another file; name the folder of its search")


def _together(study: Study, releases: Sequence[_Sourced]) -> Together | None:
    """Return the joint classes of several releases, or None."""
    if len(releases) < 2:
        return None
    try:
        return together([_classes_of_release(*one) for one in releases], study.table)
    except ValueError:
        # A release of another search or of other data.
        return None


def _classes_of_release(study: Study, one: Released) -> EquivalenceClasses:
    other = study.for_audience(one.audience)
    # Classes of releases to several audiences are compared, and so of one table.
    other.table = study.table
    problem: Any = other.problem
    if one.recoding is None:
        return problem.equivalence_classes(np.array(one.x))
    asked = tuple(constraint(text, study.table, problem.measured) for text in one.requirements or ())
    return decoded_point(problem, Choice(0, tuple(one.x), {}, 0, "", asked), one.recoding)[1]
