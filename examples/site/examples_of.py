"""Worked examples of every measure, and the tour, run cell by cell."""

import ast
import contextlib
import inspect
import io
import json
from html import escape
from pathlib import Path

import in_use
import pandas as pd
import pictures
from words import line_as_rst

from pymoo_anon import objectives
from pymoo_anon.objectives import ColumnObjective, GeneralLossMetric, KAnonymity, Objective
from pymoo_anon.objectives.bounds import Bounding
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata

#: Eight persons; the example of every measure.
PERSONS = pd.DataFrame(
    {
        "age": [23, 27, 31, 34, 36, 38, 52, 58],
        "zip": ["4711", "4712", "4711", "4712", "8000", "8001", "8000", "8001"],
        "illness": ["flu", "flu", "asthma", "flu", "angina", "flu", "asthma", "angina"],
        "home": [1, 2, 1, 2, 3, 4, 3, 4],
        "stay": ["short", "long", "short", "short", "long", "short", "long", "long"],
    }
)
ZIPS = ["4711", "4712", "8000", "8001"]
WAYS = {
    "age": Hierarchy.intervals(20, 60, widths=[10, 20]),
    "zip": Hierarchy([ZIPS, ["47**", "47**", "80**", "80**"], ["*"] * 4]),
}
TABLE = Microdata.from_frame(PERSONS, WAYS, sensitive="illness", label="stay", person="home")
#: The node of the example: ages of 20 years, regions of two places.
NODE = [2, 1]
POPULATION = Microdata.from_frame(pd.concat([PERSONS, PERSONS, PERSONS[:3]]), WAYS)
#: Arguments of a measure beside the column of its role.
MORE = {
    # Of eight persons nobody is safe from a risk of 0.09.
    "RecordsAtRisk": lambda own, table: own(0.3 if table is TABLE else 0.09),
    **dict.fromkeys(
        ("DeltaPresence", "KMap", "LeastPresence"),
        lambda own, table: own(POPULATION if table is TABLE else table),
    ),
    "RecursiveCLDiversity": lambda own, table: own(table.sensitive[0], 2),
}


def measures():
    """List the measures with a page of their own."""
    listed = [getattr(objectives, name) for name in objectives.__all__]
    base = (Objective, ColumnObjective)
    return [own for own in listed if inspect.isclass(own) and issubclass(own, Objective) and own not in base]


def made(own, table):
    """Make a measure, with the column of its role if it reads one."""
    if own.__name__ in MORE:
        return MORE[own.__name__](own, table)
    if issubclass(own, ColumnObjective):
        return own({"label": table.label, "person": table.person}.get(own.role) or table.sensitive[0])
    return own()


def facts(measure):
    """Return the facts in a measure's docstring, by heading."""
    low, high = measure.value_range(TABLE.tuples)
    family = measure.bounding
    told = None if family is None else line_as_rst(inspect.getdoc(family).split("\n\n")[0].replace("\n", " "))
    return {
        "Name": f"``{measure.full_name}``" + (f", ``{measure.short}`` on the command line" if measure.short else ""),
        "Direction": f"{'higher' if measure.maximize else 'lower'} is better",
        "Values": f"from {low:g} to {high:g} on the table below" + (", whole" if measure.whole else ""),
        "Worth telling apart": f"{measure.step:g}",
        "Of single classes": "yes: ``Violating`` can suppress the classes that break a bound"
        if measure.worst_class
        else "no",
        "In proofs": "bounds of its own"
        if family is Bounding
        else f"``{family.__name__}``: {told}"
        if family
        else "states no bounds; ``ExhaustiveSearch`` finds its front",
    }


def measure_page(own, folder):
    """Write the facts of a measure, its value on the little table, and a picture."""
    measure = made(own, TABLE)
    partner = KAnonymity() if own.__name__ in objectives.loss.__all__ else GeneralLossMetric()
    problem = LatticeProblem(TABLE, [measure, partner])
    classes = problem.equivalence_classes(NODE)
    released = release(PERSONS, problem, NODE, anyway="it is only a test")
    values = {"size": classes.sizes}
    if measure.worst_class:
        values[measure.name] = measure.of_classes(classes)
    rows = {
        f"age level {a}, zip level {z}": measure.evaluate(problem.equivalence_classes([a, z]))[0]
        for a, z in ([0, 0], NODE, [3, 2])
    }
    pictures.measure_over_lattice(made(own, in_use.table()), partner, in_use.table(), folder / f"{own.__name__}.png")
    claim = released.claims.iloc[0]
    lines = [
        table_of(facts(measure).items(), ("", ""), css="facts"),
        "Worked example\n--------------\n",
        "Eight persons, ages in steps of 20 years, places in regions:\n",
        table_of(released.frame.itertuples(index=False), released.frame.columns),
        "Their equivalence classes:\n",
        table_of(
            zip(range(1, len(classes.sizes) + 1), *(map(number, own) for own in values.values()), strict=True),
            ("class", *values),
        ),
        f"The value is **{number(claim.promised)}**; counted again from the released rows alone, "
        f"**{number(claim.recounted)}**. From the table as it is to all of it wholly generalized:\n",
        table_of(((node, number(value)) for node, value in rows.items()), ("levels", measure.name)),
        f".. image:: /generated/pictures/{own.__name__}.png\n   :alt: {own.__name__} of all points of a lattice\n",
    ]
    return "\n".join(lines)


def number(value):
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def table_of(rows, headings, css=""):
    """Write a table in reST."""
    listed = [[str(cell) for cell in row] for row in rows]
    if css:
        head = f".. list-table::\n   :class: {css}\n"
    else:
        listed, head = [list(map(str, headings)), *listed], ".. list-table::\n   :header-rows: 1\n"
    lines = [
        f"{'   * - ' if place == 0 else '     - '}{_cell(cell)}" for row in listed for place, cell in enumerate(row)
    ]
    return "\n".join([head, *lines, ""])


def _cell(text):
    return text if "``" in text else text.replace("*", "\\*").replace("|", "\\|").replace("_", "\\_")


def run_cells(path):
    """Yield the cells of a notebook with their outputs, None for text."""
    book = json.loads(Path(path).read_text(encoding="utf-8"))
    names, shown = {"__name__": "__main__"}, []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            shown.append((source, None))
            continue
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(path), "exec"), names)
            value = None if last is None else eval(compile(ast.Expression(last.value), str(path), "eval"), names)
        shown.append((source, (printed.getvalue(), value)))
    return shown


def tour_page(path, folder):
    """Write the tour as a page with the output of every cell."""
    parts = []
    for place, (source, shown) in enumerate(run_cells(path)):
        if shown is None:
            parts.append(source)
            continue
        printed, value = shown
        parts.append(f"```python\n{source}\n```")
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
        if hasattr(value, "savefig"):
            value.savefig(folder / f"tour_{place}.png", dpi=100)
            parts.append(f"![What the cell above drew](/generated/images/tour_{place}.png)")
        elif hasattr(value, "_repr_html_"):
            parts.append(f'<div class="shown">\n{value._repr_html_()}\n</div>')
        elif value is not None:
            parts.append(f"```text\n{escape(repr(value), quote=False)}\n```")
    return "\n\n".join(parts) + "\n"
