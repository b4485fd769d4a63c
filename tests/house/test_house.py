"""House rules: imports go down, files are short, the top is tidy."""

import ast
import inspect
import re
import subprocess
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from pymoo_anon._messages import repeated

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pymoo_anon"

#: The rooms in building order. The suite is frozen, so it stands as low as pymoo permits, below rooms that change.
ROOMS = (
    "typing",
    "_messages",
    "_files",
    "_rooms",
    "engine",
    "table",
    "recoding",
    "datasets",
    "objectives",
    "comparison",
    "fronts",
    "suite",
    "problems",
    "operators",
    "proofs",
    "algorithms",
    # Contracts run proofs, and need no picture and no release.
    "testing",
    "visualization",
    "publishing",
    "study",
    "app",
    "cli",
    "__main__",
    "__init__",
)
#: Packages by the lowest room that may import them.
ALLOWED_FROM = {
    "pandas": "table",
    "narwhals": "table",
    "pooch": "datasets",
    "sklearn": "comparison",
    "pymoo": "fronts",
    "moocore": "fronts",
    "matplotlib": "visualization",
    "jinja2": "publishing",
    "vl_convert": "publishing",
    "nicegui": "app",
    "fastapi": "app",
    "starlette": "app",
    "uvicorn": "app",
    "click": "cli",
    "rich_click": "cli",
    "tomlkit": "study",
    "rich": "cli",
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            assert node.level == 0, "imports are absolute"
    return found


def test_imports_only_go_down():
    climbs = []
    for path in MODULES:
        floor = ROOMS.index(room(path))
        for name in imports(path):
            top, *rest = name.split(".")
            own = top == "pymoo_anon" and (not rest or rest[0] == room(path) or ROOMS.index(rest[0]) < floor)
            if not own and (top == "pymoo_anon" or (top in ALLOWED_FROM and floor < ROOMS.index(ALLOWED_FROM[top]))):
                climbs.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert climbs == []


def test_no_module_imports_itself_in_a_circle():
    """Find an order in which all modules can be read.

    The `__init__` of a room only gathers names, so that modules import modules.
    """
    graph = {}
    for path in MODULES:
        if path.name != "__init__.py":
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            graph[name] = {other for other in imports(path) if other.startswith("pymoo_anon.")}
    with_init = {name: set() for others in graph.values() for name in others if name not in graph}
    assert list(TopologicalSorter({**graph, **with_init}).static_order())


def test_the_top_level_holds_nothing_else():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no git checkout: what belongs to the project is not known")
    allowed = {"pyproject.toml", "README.md", "LICENSE", "pymoo_anon", "benchmarks", "tests", "examples"}
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= allowed


def test_files_and_functions_are_short():
    """Allow 600 lines a file, 50 lines and 8 parameters a function."""
    large = []
    for path in MODULES:
        name = path.relative_to(PACKAGE).as_posix()
        if len(path.read_text(encoding="utf-8").splitlines()) > 600:
            large.append(name)
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                n_given = sum(argument.arg not in ("self", "cls") for argument in given)
                if node.end_lineno - node.lineno + 1 > 50 or n_given > 8:
                    large.append(f"{name} {node.name}")
    assert large == []


@cache
def public_names(path: Path) -> set[str]:
    """Return the names that the room of a module lists for import."""
    return set() if path.parent == PACKAGE else set(import_module(f"pymoo_anon.{room(path)}").__all__)


def methods():
    """Yield the file of every class of the package, its node, and each method that is no setter."""
    for path in MODULES:
        for kind in parsed(path).body:
            for method in kind.body if isinstance(kind, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef) and not is_setter(method):
                    yield path, kind, method


def told_by(path, *names: str) -> str:
    """Return the docstring of a name in a module, or of the overridden method."""
    found = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for name in names:
        found = getattr(found, name)
    return inspect.getdoc(found) or ""


def test_what_raises_says_so():
    """Require a paragraph Raises of public functions that raise.

    The docstring of a class covers its constructor.
    """
    functions = [(path, one) for path in MODULES for one in parsed(path).body if isinstance(one, ast.FunctionDef)]
    public = [(path, one.name) for path, one in functions if one.name in public_names(path) and raises(one)]
    for path, kind, method in methods():
        if kind.name in public_names(path) and raises(method):
            if method.name in ("__init__", "__post_init__"):
                public.append((path, kind.name))
            elif not method.name.startswith("_"):
                public.append((path, kind.name, method.name))
    assert [names for path, *names in public if "Raises:" not in told_by(path, *names)] == []
    assert len(public) > 50


def is_setter(method: ast.FunctionDef) -> bool:
    """Return whether a method is a setter, documented by its getter."""
    return any(isinstance(one, ast.Attribute) and one.attr == "setter" for one in method.decorator_list)


def raises(function: ast.FunctionDef) -> bool:
    """Return whether a function raises anything but NotImplementedError and IndexError."""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if not (isinstance(name, ast.Name) and name.id in ("NotImplementedError", "IndexError")):
                return True
    return False


def test_public_methods_say_what_they_do():
    public = [
        (path, kind.name, method.name)
        for path, kind, method in methods()
        if not kind.name.startswith("_") and not method.name.startswith("_")
    ]
    assert [names for path, *names in public if not told_by(path, *names)] == []
    assert len(public) > 300


def test_all_functions_but_compiled_loops_are_typed():
    """Find functions without types, which the type checker passes for the sake of loops."""
    untyped, loops = [], []
    for path in MODULES:
        for one in ast.walk(parsed(path)):
            if not isinstance(one, ast.FunctionDef):
                continue
            with_types = one.returns is not None or any(
                isinstance(own, ast.arg) and own.annotation is not None for own in ast.walk(one.args)
            )
            if not with_types:
                is_loop = any(re.match(r"njit\(|kernel$|inlined$", ast.unparse(own)) for own in one.decorator_list)
                (loops if is_loop else untyped).append(f"{path.relative_to(PACKAGE)} {one.name}")
    assert untyped == []
    assert len(loops) > 100


def test_a_module_gives_a_name_once():
    """Find names that a module assigns twice.

    Code that is read before the second assignment would use the second value, too.
    """
    given = []
    for path in MODULES:
        for node in parsed(path).body:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            given += [f"{path.relative_to(PACKAGE)} {name}" for name in names]
    assert len(given) > 100
    assert repeated(given) == []


def test_lists_side_by_side_are_of_one_length():
    """Require strict=True where strict is given, as shorter lists lose values silently.

    The linter requires that every zip gives it.
    """
    folders = (PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")}
    assert sum(text.count("strict=True") for text in texts.values()) > 100
    assert [path.name for path, text in texts.items() if re.search(r"\bstrict=(?!True\b)\w", text)] == []


def test_profiles_say_how_many_examples_are_drawn():
    """Forbid own numbers of examples, which would ignore the profile.

    `more` and `times` of tests/strategies.py follow the profile.
    """
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    assert paths
    own = re.compile(r"@settings\(max_examples=")
    assert [path.name for path in paths if own.search(path.read_text(encoding="utf-8"))] == []
