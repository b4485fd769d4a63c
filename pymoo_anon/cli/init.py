"""The command `init`: guesses, drafts of hierarchies, and the project file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from rich.console import Console

from pymoo_anon._files import tried
from pymoo_anon._messages import counted, examples, plain
from pymoo_anon.cli.console import print_rows, tell, tell_some, working
from pymoo_anon.cli.options import InitRequest
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, Source, source_of
from pymoo_anon.study.options import command, options_named
from pymoo_anon.study.proposal import DECIDED, EQUAL, Proposal, Proposer, reading_of

# Most questions that are printed.
_MOST_QUESTIONS = 3

# More undecided columns than these are many.
_MANY = 10

# Headings of the columns with some roles.
_CALLED = {
    "Quasi-identifiers": ("quasi-identifier",),
    "Sensitive": ("sensitive",),
    "Label": ("label",),
    "Kept as they stand": ("keep",),
    "Not released": ("person", "identifier", "drop"),
    "Not decided": ("other",),
}


def run_init(request: InitRequest, console: Console) -> None:
    """Guess the role of every column, and write a project file and drafts."""
    source = source_of(request.data, Path(), request.table)
    if source.path is not None and source.path.suffix.lower() == ".deid":
        _take_over(request, source, source.path, console)
        return
    with options_named(request):
        reading = reading_of(source, request.engine, request.names, request.encoding)
    source = reading.source
    project = request.output / f"{source.stem}.toml"
    # The folder is tried before the work.
    with tried(request.output, [project.name], own=True), working("Step 1 of 2: reading the table") as show:
        proposer = Proposer(reading)
        show("Step 2 of 2: guessing roles and drafting hierarchies")
        made = proposer.propose(project, request.role, request.hierarchies, request.missing)
    _write(request, source, made.texts)
    for name, words in islice(made.questions.items(), _MOST_QUESTIONS):
        tell(console, f"{name}: {words}")
    if others := [*made.questions][_MOST_QUESTIONS:]:
        tell_some(console, "Odd values in more columns", others)
    if made.questions:
        again = command("hierarchy", "draft", project, force=True)
        tell(console, f"Add those that stand for no value to empty in {project}, then: {again}")
    for hint in made.hints:
        tell(console, hint)
    _say(console, made, project)


def _take_over(request: InitRequest, source: Source, path: Path, console: Console) -> None:
    # No other project needs it.
    from pymoo_anon.study.arx import taken_over

    for name in ("names", "table", "encoding", "role", "hierarchies", "missing", "engine"):
        if name in request.given:
            raise ValueError(f"--{name} cannot be combined with {source}, a project of ARX")
    source.check()
    taken = taken_over(path, source.stem)
    _write(request, source, taken.files)
    headings = ["column", "role", "levels", "weight"]
    rows = ([name, *(str(own.get(key, "")) for key in headings[1:])] for name, own in taken.columns.items())
    print_rows(console, headings, rows)
    console.print(plain(f"Required: {', '.join(taken.search['require']) or 'nothing'}."))
    console.print("Not taken over:")
    for line in taken.left:
        tell(console, f"  {line}")
    project = request.output / f"{source.stem}.toml"
    console.print(plain(f"Written: {project}, {request.output / source.stem}.csv, {len(taken.files) - 2} hierarchies"))
    console.print(plain(f"Next: read and edit both, then: {command('search', project)}"))


def _write(request: InitRequest, source: Source, texts: dict[str, str]) -> None:
    write_new(request.output, texts, [] if source.path is None else [source.path], request.force)


def _say(console: Console, made: Proposal, project: Path) -> None:
    columns, proposed = made.columns, made.proposed
    names = {own.profile.name: own.profile.name + " (person)" * (own.role == "person") for own in columns}
    for called, roles in _CALLED.items():
        found = [names[own.profile.name] for own in columns if own.role in roles]
        if found:
            tell_some(console, f"{called} ({len(found):,})", found)
    for words in (EQUAL, DECIDED):
        if beside := [own.profile.name for own in columns if own.beside == words]:
            tell_some(console, words, beside)
    gaps = [own.profile.name for own in columns if own.profile.n_missing and own.role not in _CALLED["Not released"]]
    if gaps:
        tell_some(console, f"With missing values{f', {examples(proposed)} among them' if proposed else ''}", gaps)
    n_drafts = sum(column.text is not None for column in columns)
    drafts = f", {counted(n_drafts, 'draft', 'drafts')} in {project.parent / HIERARCHIES}" if n_drafts else ""
    console.print(plain(f"Written: {project}{drafts}"))
    n_others = sum(column.role == "other" for column in columns)
    first = 'decide each role "other" there' if n_others else f"read and edit {'both' if n_drafts else 'it'}"
    if not any(column.role in ("quasi-identifier", "other") for column in columns):
        first = f"make a column a quasi-identifier there, draft it by {command('hierarchy', 'draft', project)}"
    if n_others > _MANY:
        first += ", or many at once by init --force --role 'PATTERN=ROLE'"
    console.print(plain(f"Next: {first}, then: {command('search', project)}"))
