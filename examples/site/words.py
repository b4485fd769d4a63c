"""Conversion of docstrings to reST, with links to the pages of public names."""

import re
from importlib import import_module
from pkgutil import resolve_name

ROOMS = [
    "table",
    "objectives",
    "comparison",
    "problems",
    "operators",
    "algorithms",
    "proofs",
    "fronts",
    "datasets",
    "publishing",
    "study",
    "visualization",
    "suite",
    "testing",
    "recoding",
    "engine",
]


def public_names():
    """Return all public names and their objects."""
    found = {}
    for room in ROOMS:
        module = import_module(f"pymoo_anon.{room}")
        for name in module.__all__:
            found[f"pymoo_anon.{room}.{name}"] = getattr(module, name)
    return found


PUBLIC = public_names()
SHORT = {full.rpartition(".")[2]: full for full in PUBLIC}
OF_MODULE = {
    f"{own.__module__}.{own.__qualname__}": full for full, own in PUBLIC.items() if hasattr(own, "__qualname__")
}


def as_rst(app, what, name, obj, options, lines):
    """Convert a docstring to reST in place, with code kept as it is."""
    made, inside = [], False
    for line in lines:
        bare = line.strip()
        inside = bool(bare) and (inside or bare.startswith(">>>"))
        if bare == "Formula:":
            made += [".. code-block:: text", "   :class: formula", ""]
            inside = True
        elif inside:
            made.append(line)
        else:
            # Arguments with stars are napoleon's to read.
            stars, text = re.fullmatch(r"(\s*(?:\*\*?\w+:)?)(.*)", line).groups()
            made.append(stars + line_as_rst(text))
    if what in ("property", "attribute"):
        # Text before a colon would be taken for a type.
        made[0] = made[0].replace(": ", " – ", 1)
    lines[:] = lists_apart(made)


def line_as_rst(line):
    """Convert one line: names in backquotes become links or code."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(
        _code(part[1:-1]) if part.startswith("`") else re.sub(r"([*|])|(?<=\w)(_)(?!\w)", r"\\\1\2", part)
        for part in parts
    )


def _code(text):
    full = SHORT.get(text.removesuffix("()"))
    return f":py:obj:`{text} <{full}>`" if full else f"``{text}``"


def short_arrays(app, what, name, obj, options, signature, returned):
    """Arrays are written as in the code, `NDArray[float64]`."""
    written = r"~?numpy\.ndarray\[~?tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([^][]+)\]\]"
    texts = (text and re.sub(written, r"~numpy.typing.NDArray[\1]", text) for text in (signature, returned))
    return tuple(text and re.sub(r"~?\w*\.?TypeAliasForwardRef\('([\w.]+)'\)", r"~\1", text) for text in texts)


def short_properties(app, doctree, page):
    """Convert the types of properties, which have no signature."""
    from docutils.nodes import Text
    from sphinx.addnodes import desc_annotation

    for node in doctree.findall(desc_annotation):
        short = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", r"NDArray[\1]", node.astext())
        if short != node.astext():
            node[:] = [Text(short)]


def lists_apart(lines):
    """Begin lists after an empty line."""
    made = []
    for line in lines:
        item = re.match(r"\s*- ", line)
        if (
            item
            and made
            and made[-1].strip()
            and not re.match(r"\s*- ", made[-1])
            and not made[-1].startswith(" " * (len(item[0])))
        ):
            made.append("")
        made.append(line)
    return made


def public_reference(app, env, node, contnode):
    """Link a name to its public page, and internal names to nothing."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    full = OF_MODULE.get(target) or SHORT.get(target)
    if full:
        domain = env.get_domain("py")
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, contnode)
    return contnode if exists(target) else None


def exists(target):
    """Return whether a dotted name of this package exists."""
    try:
        return target.startswith("pymoo_anon.") and resolve_name(target) is not None
    except (ImportError, AttributeError):
        return False
