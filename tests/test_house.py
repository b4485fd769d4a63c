"""The house stands as it is drawn: imports go down, files stay short, the top level stays tidy."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pymoo_anon"

FLOORS = {
    "_messages": 0,
    "_values": 0,
    "kernels": 0,
    "equivalence": 0,
    "hierarchy": 1,
    "generalization": 1,
    "taxonomy": 1,
    "microdata": 1,
    "datasets": 1,
    "objectives": 2,
    "properties": 2,
    "comparators": 2,
    "bias": 2,
    "comparison": 2,
    "problems": 3,
    "operators": 3,
    "archive": 3,
    "indicators": 3,
    "decomposition": 3,
    "algorithms": 4,
    "visualization": 5,
    "report": 5,
    "_shorthand": 5,
    "cli": 5,
    "__main__": 5,
    "__init__": 5,
}
ALLOWED_FROM = {
    "pandas": 1,
    "narwhals": 1,
    "pooch": 1,
    "pymoo": 3,
    "moocore": 3,
    "matplotlib": 5,
    "typer": 5,
    "rich": 5,
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            assert node.level == 0, "imports are absolute"
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    floor = FLOORS[room(path)]
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "pymoo_anon" and rest:
            assert rest[0] == room(path) or FLOORS[rest[0]] <= floor, f"{path.name} imports {name} from above"
        assert floor >= ALLOWED_FROM.get(top, 0), f"{path.name} imports {name} below its floor"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_the_top_level_holds_nothing_else():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no git checkout: what belongs to the project is not known")
    allowed = {"pyproject.toml", "README.md", "LICENSE", "pymoo_anon", "benchmarks", "tests", "examples"}
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= allowed
