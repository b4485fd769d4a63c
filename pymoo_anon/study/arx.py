"""Import of ARX's projects, zip files of XML and CSV.

Nothing of them is run, and no entry is unpacked to a path of its own: names of files here are made anew.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser, fromstring

import tomlkit

from pymoo_anon._messages import plain
from pymoo_anon.study.names import HIERARCHIES, file_names
from pymoo_anon.table.domain_values import is_number, spelled

# Most bytes of an XML entry, and of tables and hierarchies together: a small file must not fill memory.
_MOST_XML = 1 << 26
_MOST_BYTES = 1 << 30
# Tables unpack to about ten times the archive. Anything far above this, and above the limit of XML, is a bomb.
_MOST_TIMES = 100

_ARX_TABLE, _DEFINITION, _CONFIG = "data/input.csv", "input/definition.xml", "input/config.xml"
# How ARX writes that there is no value.
_NULL = "NULL"
_ROLES_OF_ARX = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi-identifier",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "keep",
}
# Entries of a definition that are imported, or of no use here.
_KNOWN = ("name", "type", "datatype", "format", "locale", "ref", "min", "max")
_REASON = "insensitive in the project of ARX"
# ARX's weight of a column without one.
_WEIGHT = 0.5

_NUMBER = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
_OF = r" for attribute '(.+)'"
#: Privacy models as ARX writes them, and the bound that each becomes.
_MODELS: tuple[tuple[str, Callable[..., str]], ...] = (
    (r"(\d+)-anonymity", lambda k: f"k>={k}"),
    (rf"distinct-(\d+)-diversity{_OF}", lambda n, name: f"l:{name}>={n}"),
    (rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_OF}", lambda n, name: f"entropy-l:{name}>={n}"),
    (rf"{_NUMBER}-closeness with equal (?:ground-)?distance{_OF}", lambda t, name: f"t:{name}<={t}"),
    (rf"{_NUMBER}-disclosure privacy{_OF}", lambda d, name: f"delta:{name}<={d}"),
    (rf"{_NUMBER}-basic likeness{_OF}", lambda b, name: f"beta:{name}<={b}"),
    (rf"enhanced-{_NUMBER}-likeness{_OF}", lambda b, name: f"enhanced-beta:{name}<={b}"),
)


class Taken:
    """Imported parts of a project of ARX."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self._room = min(_MOST_BYTES, max(_MOST_XML, _MOST_TIMES * path.stat().st_size))
        self._names = set(archive.namelist())
        self.files: dict[str, str] = {}  # Content by path: table, hierarchies, and the project file, the last one
        self.columns: dict[str, dict[str, Any]] = {}  # Keys of the project file by column
        self.search: dict[str, Any] = {}  # Its options of the search
        self.missing: dict[str, Any] = {}  # Its keys about missing values
        self.left: list[str] = []  # A line for each part that is left out

    def _project(self, stem: str) -> str:
        document = tomlkit.document()
        document.add(tomlkit.comment(plain(f"Taken over from {self._path.name}, a project of ARX. Not taken over:")))
        for line in self.left:
            document.add(tomlkit.comment(f"  {line}"))
        document.add("data", tomlkit.item({"file": f"{stem}.csv", **self.missing}))
        document.add("columns", tomlkit.item(self.columns))
        document.add("search", tomlkit.item({**self.search, "output": f"{stem}-front"}))
        document.add("release", tomlkit.item({"file": f"{stem}-release.csv", "suppressed": "mark"}))
        return tomlkit.dumps(document)

    def read(self, stem: str) -> None:
        """Read all parts of the project."""
        self._separator = self._xml("project.xml").findtext("separator") or ";"
        rows = self._rows(_ARX_TABLE)
        if len(rows) < 2:
            raise ValueError(f"{self._path}: {_ARX_TABLE} must hold a table, got {'no row' if rows else 'nothing'}")
        self.files[f"{stem}.csv"] = _csv(rows, ",")
        definition = {one.findtext("name", ""): one for one in self._xml(_DEFINITION).findall("assigment")}
        if unknown := [name for name in rows[0] if name not in definition]:
            raise ValueError(f"{self._path}: {_DEFINITION} must say what every column is, got nothing of {unknown[:5]}")
        files = dict(zip(rows[0], file_names(rows[0]), strict=True))
        for place, name in enumerate(rows[0]):
            values = dict.fromkeys(row[place] for row in rows[1:])
            self._column(name, definition[name], values, f"{HIERARCHIES}/{files[name]}")
        if any(_NULL in row for row in rows[1:]):
            self.missing = {"missing": "keep", "empty": [_NULL]}
        self._config(self._xml(_CONFIG))
        self._others(len(rows))
        self.left = [plain(line) for line in self.left]
        self.files[f"{stem}.toml"] = self._project(stem)

    def _column(self, name: str, told: Element, values: Mapping[str, None], file: str) -> None:
        kind, left = told.findtext("type", ""), self.left
        if kind not in _ROLES_OF_ARX:
            raise ValueError(f"{self._path}: {_DEFINITION} must give {name!r} a type of ARX, got {kind!r}")
        own = self.columns[name] = {"role": _ROLES_OF_ARX[kind]}
        left += [f"{name}: {one.tag} = {one.text or ''}" for one in told if one.tag not in _KNOWN]
        hierarchy = told.findtext("ref")
        if own["role"] == "keep":
            own["reason"] = _REASON
        if own["role"] != "quasi-identifier":
            if hierarchy is not None:
                left.append(f"{name}: the hierarchy, as it is no quasi-identifier")
            return
        entry = f"input/{hierarchy}"
        if hierarchy is not None and entry not in self._names:
            left.append(f"{name}: the hierarchy, as the file holds no {entry}; the column is not generalized")
        rows = self._rows(entry) if entry in self._names else [[value] for value in values]
        if not rows:
            raise ValueError(f"{self._path}: {entry} must hold a hierarchy, got nothing")
        rows = [["" if row[0] == _NULL else row[0], *row[1:]] for row in rows]
        self.files[file] = _csv(rows, ";")
        own["hierarchy"] = file
        height = len(rows[0]) - 1
        ends = [told.findtext(end) or "All" for end in ("min", "max")]
        if ends != ["All", "All"]:
            pairs = zip(ends, (0, height), strict=True)
            own["levels"] = [every if end == "All" else _whole(name, end) for end, every in pairs]

    def _config(self, config: Element) -> None:
        require = []
        for text in (one.text or "" for one in config.findall("criteria/criterion")):
            found = _bound(text)
            if found is None:
                self.left.append(f"the privacy model {text}")
            else:
                require.append(found)
        if any(one.startswith("delta") for one in require):
            self.left.append("that delta must be below its bound: here it may be as large")
        limit = self._number(config.findtext("relativeMaxOutliers"))
        share = 1 - 1e-9 if limit >= 1 else limit
        self.search = {
            "objectives": ["GLM"],
            "require": require,
            "suppression": f"violating:{share!r}" if require else share,
        }
        metric = config.findtext("metric") or "none"
        if not metric.startswith("Loss (0.5/"):
            self.left.append(f"the quality model {metric}: the general loss stands in its place")
        self.left.append(
            "the aggregate function of the quality model, which the XML does not tell: columns are added up, as in the "
            "arithmetic mean of ARX; in its geometric mean, which is usual, weights change nothing"
        )
        given = config.findall("attributeWeights/attributeWeight")
        weights = {one.findtext("attribute"): self._number(one.findtext("weight")) for one in given}
        quasi = [name for name, own in self.columns.items() if own["role"] == "quasi-identifier"]
        own = {name: weights.get(name, _WEIGHT) for name in quasi}
        if len(set(own.values())) > 1:
            for name, weight in own.items():
                self.columns[name]["weight"] = weight
        if config.findtext("practicalMonotonicity") == "true":
            self.left.append("the assumption of practical monotonicity: what is found here is exact")
        suppressed = [one.text or "" for one in config.findall("suppressedAttributeTypes/*")]
        self.left += [f"that rows lose columns of type {one}, too" for one in suppressed if "QUASI" not in one]

    def _number(self, text: str | None) -> float:
        number = spelled(text or "0", float)
        if not is_number(number) or number < 0:
            raise ValueError(f"{self._path}: {_CONFIG} must hold numbers from 0, got {text!r}")
        return float(number)

    def _others(self, n_rows: int) -> None:
        if "data/input_subset.csv" in self._names and len(self._rows("data/input_subset.csv")) < n_rows:
            self.left.append("the research subset: all rows are taken")
        if any(name.startswith(("output/", "data/output", "lattice")) for name in self._names):
            self.left.append("what ARX had found: output, lattice and clipboard")
        if any(name.endswith(".dat") for name in self._names):
            self.left.append("objects of Java (*.dat), which nothing here reads")

    def _xml(self, name: str) -> Element:
        content = self._content(name, _MOST_XML)
        try:
            return fromstring(content, XMLParser(target=_WithoutTypes()))
        except (ParseError, LookupError) as error:
            raise ValueError(f"{self._path}: {name} must be XML, got {error}") from None
        except ValueError as error:
            raise ValueError(f"{self._path}: {name} {error}") from None

    def _rows(self, name: str) -> list[list[str]]:
        try:
            text = self._content(name, self._room).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ValueError(f"{self._path}: {name} must be text in UTF-8, got the byte 0x{byte:02x}") from None
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=self._separator) if row]
        except (csv.Error, TypeError) as error:
            raise ValueError(f"{self._path}: {name} must be CSV, got {error}") from None
        if any(len(row) != len(rows[0]) for row in rows):
            raise ValueError(f"{self._path}: {name} must have as many fields in every row, got rows of other lengths")
        return rows

    def _content(self, name: str, most: int) -> bytes:
        if name not in self._names:
            raise ValueError(f"{self._path} must be a project of ARX, which holds {name}, got none")
        with self._archive.open(name) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise ValueError(f"{self._path}: {name} must unpack to at most {most:,} bytes, got more")
        self._room -= len(content)
        return content


def taken_over(path: Path, stem: str) -> Taken:
    """Read a project of ARX for a project file of another name."""
    try:
        with zipfile.ZipFile(path) as archive:
            taken = Taken(path, archive)
            taken.read(stem)
            return taken
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        # A RuntimeError tells of a password, or of another way to pack.
        raise ValueError(f"{path} must be a project of ARX, a zip file, got {str(error) or 'a broken one'}") from None


def _bound(model: str) -> str | None:
    return next((bound(*found.groups()) for own, bound in _MODELS if (found := re.fullmatch(own, model))), None)


class _WithoutTypes(TreeBuilder):
    """Builder that refuses a document type, so that no entity is declared."""

    def doctype(self, *_: Any) -> NoReturn:
        raise ValueError("must not declare a document type: ARX writes none, and entities of it could be bombs")


def _whole(name: str, text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{_DEFINITION} must give {name!r} whole levels, got {text!r}")
    return int(text)


def _csv(rows: Sequence[Sequence[str]], separator: str) -> str:
    file = io.StringIO(newline="")
    # A comma in a single column would separate columns.
    quoting: Any = csv.QUOTE_ALL if len(rows[0]) == 1 else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting).writerows(rows)
    return file.getvalue()
