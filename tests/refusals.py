"""Refused expressions in text files: each with its error and sentence, where an ellipsis stands for more words."""

import re
from pathlib import Path

import pytest


def refusals(test):
    """Parametrize a test with the expressions and errors of `refusals.txt` beside its file."""
    lines = Path(test).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()
    cases = [(line[4:], lines[i + 1]) for i, line in enumerate(lines) if line.startswith(">>> ")]
    return pytest.mark.parametrize(("expression", "error"), cases, ids=[expression for expression, _ in cases])


def check_refusal(expression, error, names):
    """Check that an expression, with the names of a test's module, raises an error of this type and sentence."""
    kind, _, sentence = error.partition(": ")
    with pytest.raises(eval(kind, names)) as caught:
        eval(expression, names)
    told = str(caught.value.args[0])
    assert re.fullmatch(re.escape(sentence).replace("…", ".*"), told), told
