"""Distributions, the workflow's steps, and the citation of the project."""

import inspect
import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

import pymoo_anon
import pymoo_anon.testing
from pymoo_anon.cli.app import app

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in (GITHUB / "workflows").glob("*.yml")}
WORKFLOW = WORKFLOWS["tests"]
CONTRIBUTING = (GITHUB / "CONTRIBUTING.md").read_text(encoding="utf-8")


def files(*folders):
    """Return the files that git tracks or would add, without deleted ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no git checkout: what belongs to the project is not known")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_wheel_holds_the_package_and_its_data_alone(tmp_path):
    builders = pytest.importorskip("hatchling.builders.wheel")
    (path,) = builders.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        assert (
            "pymoo-anon = pymoo_anon.cli:main"
            in wheel.read(next(n for n in names if n.endswith("points.txt"))).decode()
        )
    about = {name for name in names if name.startswith(f"pymoo_anon-{pymoo_anon.__version__}.dist-info/")}
    assert {name.partition("/")[2] for name in about} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip
    assert names - about == files("pymoo_anon")
    assert {name.split("/")[1] for name in names if "/data/" in name} == {"suite"}
    assert Path(path).stat().st_size < 2_000_000


@pytest.mark.slow
def test_the_source_distribution_holds_the_project_alone(tmp_path):
    builders = pytest.importorskip("hatchling.builders.sdist")
    (path,) = builders.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == files() | {"PKG-INFO"}


def test_the_workflow_tests_what_the_project_promises():
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if ":: 3." in name]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert jobs["test"]["needs"] == jobs["oldest"]["needs"] == ["build", "adult"]


def test_no_test_is_skipped_for_want_of_data_or_a_browser():
    """Check that every test job gets verified data and a browser."""
    from pymoo_anon.datasets.adult import fetch_adult_frame

    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    sha256 = jobs["adult"]["env"]["SHA256"]
    assert sha256 in inspect.getsource(fetch_adult_frame)
    assert f"key: adult-{sha256}" in WORKFLOW
    assert any("sha256sum --check" in step.get("run", "") for step in jobs["adult"]["steps"])
    for name, job in jobs.items():
        if any("pytest" in step.get("run", "") for step in job["steps"]):
            assert job["env"]["PYMOO_ANON_DATA"] == "${{ github.workspace }}/data", name
            assert {"name": "adult", "path": "data/"} in [step.get("with") for step in job["steps"]], name
    assert "playwright>=1.49" in PROJECT["optional-dependencies"]["test"]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert run.index("export CI=true") < run.index("apt-get install") < run.index("README.md)")


def test_every_dependency_has_a_lower_bound_that_is_tested():
    """Check that `.ci/lowest` prints the versions that the oldest job installs."""
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(name for own in extras for name in own)]
    bounds = {re.sub(r"\[.*\]", "", name).split(",")[0].replace(">=", "==") for name in wanted}
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", bound) for bound in bounds), bounds
    printed = subprocess.run([ROOT / ".ci" / "lowest"], capture_output=True, text=True, check=True).stdout
    assert set(printed.split()) == bounds
    runs = [step.get("run", "") for step in yaml.safe_load(WORKFLOW)["jobs"]["oldest"]["steps"]]
    assert sum(run.startswith(".ci/lowest > lowest.txt") for run in runs) == 1


def test_actions_are_pinned_to_major_versions():
    for text in WORKFLOWS.values():
        used = re.findall(r"uses: (\S+)", text)
        assert used
        assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in used), used


def test_a_job_may_write_only_what_it_publishes():
    """Allow everything else to read the sources, without any secret."""
    rights = {}
    for name, text in WORKFLOWS.items():
        assert "secrets." not in text
        read = yaml.safe_load(text)
        assert read["permissions"] == {"contents": "read"}
        rights |= {f"{name}: {job}": own["permissions"] for job, own in read["jobs"].items() if "permissions" in own}
    assert rights == {
        "publish: pypi": {"id-token": "write"},
        "publish: site": {"contents": "read", "pages": "write", "id-token": "write"},
    }
    jobs = yaml.safe_load(WORKFLOWS["publish"])["jobs"]
    assert (jobs["pypi"]["needs"], jobs["site"]["needs"]) == ("build", "pypi")
    installed = re.findall(r"(?:pip install|--spec) ([a-z]+\S*)", WORKFLOWS["publish"])
    assert installed
    assert all("==" in name for name in installed)


def test_a_tag_is_published_only_as_the_version_that_the_changes_tell_of():
    """Run the workflow's two lines for the right tag and wrong tags."""
    steps = yaml.safe_load(WORKFLOWS["publish"])["jobs"]["build"]["steps"]
    (check,) = (step["run"] for step in steps if "GITHUB_REF_NAME" in step.get("run", ""))
    first, second = check.splitlines()
    version = pymoo_anon.__version__

    def holds(line, tag):
        return subprocess.run(["bash", "-c", line], cwd=ROOT, env={"GITHUB_REF_NAME": tag}, check=False).returncode == 0

    assert holds(first, f"v{version}")
    assert not holds(first, f"v{version}.1")
    assert holds(second, "v0.1.0")
    assert not holds(second, "v9.9.9")
    changes = (ROOT / "examples" / "site" / "changelog.md").read_text(encoding="utf-8")
    newest, *_ = re.findall(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", changes, re.M)
    assert newest[0] == version


def test_the_container_installs_what_there_is_and_runs_a_command():
    told = (GITHUB / "Dockerfile").read_text(encoding="utf-8")
    (extras,) = re.findall(r'"/src\[(.*)\]"', told)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", told, re.M)
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    copied = {name for names in re.findall(r"^COPY (.*) \S+$", told, re.M) for name in names.split()}
    assert {"pyproject.toml", PROJECT["readme"], "pymoo_anon"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    (command,) = re.findall(r"^CMD (\[.*\])$", told, re.M)
    name, *arguments = json.loads(command)
    accepts = {option for own in app.commands[name].params for option in own.opts}
    assert {one for one in arguments if one.startswith("--")} <= accepts


def test_the_citation_agrees_with_the_project():
    cited = yaml.safe_load((GITHUB / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert (cited["title"], cited["version"]) == (PROJECT["name"], pymoo_anon.__version__)
    assert (cited["license"], cited["abstract"]) == (PROJECT["license"], PROJECT["description"])
    assert cited["keywords"] == PROJECT["keywords"]
    (author,) = cited["authors"]
    of_the_suite = (ROOT / "pymoo_anon" / "suite" / "data" / "citation.bib").read_text(encoding="utf-8")
    assert author["name"].replace("_", r"\_") in of_the_suite
    told = " ".join((ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split()).lower()
    assert len(cited["references"]) == 4
    for paper in cited["references"]:
        names = ", ".join(f"{own['given-names'][0]}. {own['family-names']}" for own in paper["authors"])
        assert f"{names}: *{paper['title']}*".lower() in told


def test_the_conda_recipe_agrees_with_the_project():
    recipe = yaml.safe_load((GITHUB / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"] == {"name": "pymoo-anon", "version": pymoo_anon.__version__}
    wanted = [f"python {PROJECT['requires-python']}", *PROJECT["dependencies"]]
    named = [
        re.sub(r"^([\w-]+) ", r"\1", own).replace("matplotlib-base", "matplotlib")
        for own in recipe["requirements"]["run"]
    ]
    named = [own.replace("python-duckdb", "duckdb") for own in named]
    assert named == [own.replace(" ", "") for own in wanted]
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (PROJECT["license"], PROJECT["description"])


def test_commits_are_checked_with_the_linter_that_tests_use():
    ruff, local = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    wanted = next(name for name in PROJECT["optional-dependencies"]["test"] if name.startswith("ruff"))
    assert ruff["rev"].removeprefix("v").startswith(wanted.removeprefix("ruff>="))
    assert [hook["id"] for hook in ruff["hooks"] + local["hooks"]] == ["ruff-check", "ruff-format", "mypy"]


def test_what_contributors_are_told_exists():
    for name in re.findall(r"`((?:pymoo_anon|tests|benchmarks|examples)/[\w/.]+)`", CONTRIBUTING):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\b(check_\w+|small_problems)\b", CONTRIBUTING):
        assert name in pymoo_anon.testing.__all__
    assert set(pymoo_anon.testing.__all__) <= set(re.findall(r"\w+", CONTRIBUTING))
    assert 'pip install -e ".[test]" && pytest\n' in CONTRIBUTING
