"""Projects in ARX's own format: entries, elements, order, indentation and escapes."""

from __future__ import annotations

import csv
import io
import zipfile
from xml.sax.saxutils import escape

IDENTIFYING, QUASI = "IDENTIFYING_ATTRIBUTE", "QUASI_IDENTIFYING_ATTRIBUTE"
SENSITIVE, INSENSITIVE = "SENSITIVE_ATTRIBUTE", "INSENSITIVE_ATTRIBUTE"


def element(tag, *inside, depth=0):
    """Build an element from text or from others, indented by tabs."""
    indent = "\t" * depth
    if len(inside) == 1 and not isinstance(inside[0], tuple):
        # As commons-lang escapes: everything beyond ASCII is a number.
        text = escape(str(inside[0]), {'"': "&quot;", "'": "&apos;"})
        text = "".join(one if ord(one) < 128 else f"&#{ord(one)};" for one in text)
        return f"{indent}<{tag}>{text}</{tag}>\n"
    own = "".join(element(*one, depth=depth + 1) for one in inside)
    return f"{indent}<{tag}>\n{own}{indent}</{tag}>\n"


def table(rows, separator=";"):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
    return file.getvalue()


def definition_of(columns):
    made = []
    for name, kind, levels, more in columns:
        own = [("name", name), ("type", kind), ("datatype", "String")]
        if levels is not None:
            own += [("ref", f"hierarchies/{name}.csv"), ("min", levels[0]), ("max", levels[1])]
        made.append(("assigment", *own, *more))
    return element("definition", *made)


def config_of(criteria, limit=0.0, weights=None, metric="Loss (0.5/1.0/1.0)", monotonic="false"):
    return element(
        "config",
        ("suppressTuplesInNonAnonymousOutput", "true"),
        ("suppressedAttributeTypes", ("type", QUASI)),
        ("practicalMonotonicity", monotonic),
        ("relativeMaxOutliers", str(limit)),
        ("metric", metric),
        (
            "attributeWeights",
            *(("attributeWeight", ("attribute", name), ("weight", own)) for name, own in (weights or {}).items()),
        ),
        ("criteria", *(("criterion", one) for one in criteria)),
    )


def entries(rows, columns, hierarchies, config):
    """Build the entries of a project in ARX's order.

    Java's objects are bytes that are never read.
    """
    java = b"\xac\xed\x00\x05"
    project = element(
        "project", ("name", "own"), ("separator", ";"), ("escape", '"'), ("quote", '"'), ("linebreak", "UNIX")
    )
    return {
        "metadata.xml": element("metadata", ("version", "3.9.1"), ("vocabulary", "2.0")),
        "project.dat": java,
        "project.xml": project,
        "data/input.csv": table(rows),
        "input/config.dat": java,
        "input/config.xml": config,
        "input/definition.xml": definition_of(columns),
        **{f"input/hierarchies/{name}.csv": table(own) for name, own in hierarchies.items()},
    }


def write(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, own in content.items():
            archive.writestr(name, own)
