"""Pages written before Sphinx begins: pages of the project, names, and scripts.

Nothing here says what a class says of itself: directions, ranges, sources and bounds are read from the classes, the
suite's facts from its files, and the text of pages from where people read it on disk.
"""

import filecmp
import inspect
import re
import shutil
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import examples_of
import in_use
import pictures
import tomllib
from words import PUBLIC, ROOMS

import pymoo_anon
from pymoo_anon import suite

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

#: Pages of the project, and where they stand in the site.
INCLUDED = {
    "README.md": "readme",
    "examples/README.md": "guide",
    **{f"examples/guide/{path.name}": f"guide/{path.stem}" for path in sorted((ROOT / "examples/guide").glob("*.md"))},
    "examples/limits.md": "limits",
    "benchmarks/README.md": "results",
    "pymoo_anon/suite/README.md": "suite",
    ".github/CONTRIBUTING.md": "contributing",
    ".github/SECURITY.md": "security",
}


def write(folder):
    """Write all generated pages. Unchanged files keep their time, so that Sphinx skips them."""
    with TemporaryDirectory() as fresh:
        write_anew(Path(fresh))
        for path in [*Path(fresh).rglob("*"), *folder.rglob("*")]:
            place = path.relative_to(fresh if path.is_relative_to(fresh) else folder)
            new, old = Path(fresh, place), folder / place
            if new.is_file() and not (old.is_file() and filecmp.cmp(new, old, shallow=False)):
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, old)
            elif old.is_file() and not new.exists() and place.parts[0] not in ("gallery", "backreferences"):
                old.unlink()


def write_anew(folder):
    """Write all that is generated, in an empty folder."""
    for name in ("images", "scripts", "reference", "instances", "results", "pictures", "guide"):
        (folder / name).mkdir(parents=True)
    for path, name in included().items():
        text = with_links((ROOT / path).read_text(encoding="utf-8"), ROOT / path, folder)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with open(folder / "results.md", "a", encoding="utf-8") as page:
        page.write("\n```{toctree}\n:hidden:\n:glob:\n\nresults/*\n```\n")
    write_scripts(folder / "scripts")
    write_reference(folder)
    write_instances(folder)
    tour = ROOT / "examples/site/tour.ipynb"
    page = with_links(examples_of.tour_page(tour, folder / "images"), tour, folder)
    (folder / "tour.md").write_text(page, encoding="utf-8")
    (folder / "tested.md").write_text(tested(), encoding="utf-8")


@cache
def included():
    """Return the pages of the project by path, results of studies included."""
    found, ahead = {}, dict(INCLUDED)
    while ahead:
        found |= ahead
        linked = {
            (ROOT / path).parent.joinpath(link).resolve()
            for path in ahead
            for link in re.findall(r"\]\(([^)\s#]+\.md)", (ROOT / path).read_text(encoding="utf-8"))
        }
        studies = {f"benchmarks/results/{own.name}": f"results/{own.stem}" for own in linked if own.parent == RESULTS}
        ahead = {path: name for path, name in sorted(studies.items()) if path not in found}
    return found


def places():
    """Return the place of a project's file in the site."""
    examples = {f"examples/{path.name}": f"/generated/gallery/{path.stem}.rst" for path in EXAMPLES}
    own = {"examples/site/tour.ipynb": "/generated/tour.md", "examples/site/changelog.md": "/changelog.md"}
    return {
        **{path: f"/generated/{name}.md" for path, name in included().items()},
        "README.md": "/index.md",
        **examples,
        **own,
    }


def with_links(text, path, folder):
    """Lead the links of a text to pages of the site, and copy its pictures."""
    known = places()

    def linked(match):
        image, text, link = match["image"], match["text"], match["link"]
        if re.match(r"https?://|mailto:|/generated/", link):
            return match[0]
        file, _, anchor = link.partition("#")
        target = ((path.parent / file).resolve() if file else path).relative_to(ROOT).as_posix()
        if image or target.endswith(".png"):
            shutil.copy(ROOT / target, folder / "images")
            return f"{image}[{text}](/generated/images/{Path(target).name})"
        if target in known:
            return f"[{text}]({known[target]}{'#' + anchor if anchor else ''})"
        return text if text.startswith("`") else f"`{target}`" if target.endswith(text) else f"{text} (`{target}`)"

    pattern = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]+)\]\((?P<link>[^)\s]+)\)")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.M)
    text = "".join(part if part.startswith("```") else pattern.sub(linked, part) for part in parts)
    text = re.sub(r"^\| `([\w-]+-v\d+)` \|", r"| [\1](/generated/instances/\1.md) |", text, flags=re.M)
    head = "" if re.search("^# ", text, re.M) else f"# Results: {path.stem.replace('_', ' ')}\n\n"
    return head + text


def write_scripts(folder):
    """Write the examples for the gallery, with the question as the title."""
    (folder / "GALLERY_HEADER.rst").write_text(
        "Examples\n========\n\nOne short program for each question. The site draws what each of them found.\n",
        encoding="utf-8",
    )
    for path in EXAMPLES:
        told, code = re.fullmatch(r'"""(.*?)"""\n(.*)', path.read_text(encoding="utf-8"), re.DOTALL).groups()
        question, answer = re.fullmatch(r"(.*?\?)\s*(.*)", told, re.DOTALL).groups()
        head = f'"""\n{question}\n{"=" * len(question)}\n\n{answer}\n"""\n'
        (folder / path.name).write_text(head + code, encoding="utf-8")


def title(text, sign="="):
    return f"{text}\n{sign * len(text)}\n"


def write_reference(folder):
    """Write a page for every room, and one for every name of it."""
    for room in ROOMS:
        own = [name.rpartition(".")[2] for name in PUBLIC if name.startswith(f"pymoo_anon.{room}.")]
        module = f"pymoo_anon.{room}"
        listed = "\n".join(f"   {name}" for name in own)
        pages = "\n".join(f"   {room}/{name}" for name in own)
        lines = [
            title(room),
            f".. automodule:: {module}\n   :no-members:\n",
            f".. currentmodule:: {module}\n",
            f".. autosummary::\n   :nosignatures:\n\n{listed}\n",
            f".. toctree::\n   :hidden:\n\n{pages}\n",
        ]
        (folder / "reference" / f"{room}.rst").write_text("\n".join(lines), encoding="utf-8")
        (folder / "reference" / room).mkdir()
        for name in own:
            text = page_of(folder, module, name, PUBLIC[f"{module}.{name}"])
            (folder / "reference" / room / f"{name}.rst").write_text(text, encoding="utf-8")


def page_of(folder, module, name, own):
    """Write the page of one name: docstring, worked example, programs that use it."""
    kind = "autoclass" if inspect.isclass(own) else "autofunction" if inspect.isroutine(own) else "autodata"
    lines = [title(name), f".. currentmodule:: {module}\n"]
    shown = "" if own not in in_use.shown() else in_use.example_page(own, folder / "pictures")
    if own in examples_of.measures():
        lines += [f".. autoclass:: {name}\n", examples_of.measure_page(own, folder / "pictures"), title("Methods", "-")]
        for member, value in vars(own).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                what = "autoproperty" if isinstance(value, property) else "automethod"
                lines.append(f".. {what}:: {name}.{member}\n")
    else:
        options = "   :show-inheritance:\n" if kind == "autoclass" and own.__bases__ != (object,) else ""
        lines.append(f".. {kind}:: {name}\n" + ("   :members:\n" if kind == "autoclass" else "") + options)
        lines.append(shown)
    lines.append(f".. minigallery:: {module}.{name}\n   :add-heading: Programs that use it\n   :heading-level: -\n")
    return "\n".join(lines)


def write_instances(folder):
    """Write a page for every instance of the suite."""
    for name in suite.names():
        problem = suite.load(name)
        pictures.front_of_instance(problem, folder / "pictures" / f"{name}.png")
        (folder / "instances" / f"{name}.md").write_text(instance_page(name, problem), encoding="utf-8")
    with open(folder / "suite.md", "a", encoding="utf-8") as page:
        page.write("\n```{toctree}\n:hidden:\n:glob:\n\ninstances/*\n```\n")


def instance_page(name, problem):
    """Write an instance's page: its proof, its hardness, and a picture of its front."""
    own, proof = problem.instance, problem.certificate
    levels = [] if own.bits else [len(each["levels"]) for each in own.told["attributes"]]
    attributes = [
        f"{attribute} ({size} values{f', {levels[place]} levels' if levels else ''})"
        for place, (attribute, size) in enumerate(zip(own.attributes, own.sizes, strict=True))
    ]
    better = {-1: "higher", 1: "lower"}
    facts = {
        "rows": f"{int(own.counts.sum()):,}, of {len(own.counts):,} kinds",
        "attributes": ", ".join(attributes),
        "points": f"{proof['points']:,}; {problem.n_var} " + ("bits" if own.bits else "levels, one for each attribute"),
        "objectives": ", ".join(
            f"{label} ({better[sign]} is better)" for label, sign in zip(own.labels, own.signs, strict=True)
        ),
        "suppression": f"{own.rule} {own.limit:,} rows",
        "constraints": "; ".join(" ".join(map(str, one.values())) for one in own.told["constraints"]) or "none",
        "front": f"{proof['members']:,} points; {problem.features['unsupported']:.0%} of them no weighted sum finds",
        "proof": f"{proof['proof']}, after {proof['evaluated']:,} evaluations, by {proof['program']}",
        "steps that change nothing": ", ".join(
            f"{label} {share:.0%}" for label, share in zip(own.labels, problem.features["plateaus"], strict=True)
        ),
        "budgets": " and ".join(f"{budget:,}" for budget in problem.budgets) + " evaluations",
        "SHA-256 of the instance": f"`{proof['instance sha256']}`",
        "SHA-256 of the front": f"`{proof['front sha256']}`",
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return (
        f"# {name}\n\n{own.told['about']}\n\n"
        f"```python\nfrom pymoo_anon import suite\n\nproblem = suite.load({name!r})\n```\n\n"
        f"![The proven front of {name}](../pictures/{name}.png)\n\n{{.facts}}\n| fact | value |\n|---|---|\n{rows}\n"
    )


def tested():
    """Write the tested versions: the oldest declared and the installed one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = []
    for need in project["dependencies"]:
        name, _, bound = need.partition(">=")
        oldest, _, below = bound.partition(",<")
        rows.append(f"| {name} | {oldest} | {version(name)} | {'below ' + below if below else 'none'} |")
    pythons = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    head = f"""# Versions

This is pymoo_anon {pymoo_anon.__version__}. Every change is tested with Python {", ".join(pythons)} on Linux, macOS and
Windows, with the newest release of each dependency, and on Linux with the oldest that is allowed. Every night the tests
run with pymoo's main branch, too.

pymoo 0.7 gives X and F of a result always two dimensions. What this package reads of a result, such as
`problem.decode(res.X)`, takes both.

| package | oldest tested | where this site was built | limit |
|---|---|---|---|
"""
    return head + "\n".join(rows) + "\n"
