"""Refused expressions in text files: each with its error and sentence, where an ellipsis stands for more words."""

import re
from pathlib import Path

import pytest


def refusals(test):
    """Parametrize a test with the sections of `refusals.txt` beside its file, each a title and its expressions."""
    sections = Path(test).with_name("refusals.txt").read_text(encoding="utf-8").split("\n# ")[1:]
    return pytest.mark.parametrize("section", sections, ids=[section.partition("\n")[0] for section in sections])


def raised(expression, names):
    """Return the error of an expression, or None."""
    try:
        eval(expression, names)
    except Exception as error:
        return error
    return None


def check_refusals(section, names):
    """Check that each expression, with the names of a test's module, raises its error with its sentence."""
    lines, wrong = section.splitlines(), []
    for place, line in enumerate(lines):
        if line.startswith(">>> "):
            error = raised(line[4:], names)
            kind, _, sentence = lines[place + 1].partition(": ")
            pattern = re.escape(sentence).replace("…", ".*")
            if not isinstance(error, eval(kind, names)) or not re.fullmatch(pattern, str(error.args[0])):
                wrong.append(f"{line}\n{error!r}")
    assert not wrong, "\n".join(wrong)
