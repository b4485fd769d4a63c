"""Damaged evidence, refused in one clear sentence."""

import pytest
from evidence_of_a_release import changed, told

from pymoo_anon.publishing import read_evidence
from pymoo_anon.publishing.evidence import check_content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "must be evidence, a JSON file, got Expecting value"),
        (b"{", "must be evidence, a JSON file, got Expecting property name"),
        (b"\xff\xfe{}", "must be evidence, a JSON file in UTF-8, got another encoding"),
        (b"[]", r"must be an object, got \[\]"),
        (b"{}", "must have the parts of evidence, and lacks 'audience', 'format', 'version', 'made', 'table' and"),
        (b'{"format": NaN}', "got NaN, which JSON has not"),
        (b"[" * 100_000, "must be evidence, a JSON file, got"),
        (b'{"format": "pymoo_anon evidence", "version": 1}', "must be evidence of version 8, got version 1"),
        (b"1" * 5000, "must be evidence, a JSON file, got"),
    ],
)
def test_files_that_are_no_evidence(text, message, tmp_path):
    path = tmp_path / "evidence.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_evidence(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("front",), ..., "must have the parts of evidence, and lacks 'front'"),
        (("more",), 1, "must have the parts of evidence, and has 'more', which is unknown"),
        (("front", 1, "x"), [0], r"front\[1\] must have 2 variables and 3 values, got 1 and 3"),
        (("front", 1, "values"), [0], r"front\[1\] must have 2 variables and 3 values, got 2 and 1"),
        (("front", 1, "values", 2), "much", r"front\[1\]\.values\[2\] must be a number, got 'much'"),
        (("front", 1, "values", 0), True, r"values\[0\] must be a number, got True"),
        pytest.param(("front", 1, "values", 0), 10**400, r"values\[0\] must be a number, got 1000", id="huge"),
        (("front", 0, "x", 0), -1, r"front\[0\]\.x\[0\] must be a whole number from 0, got -1"),
        (("front", 0, "x", 0), 1.0, r"must be a whole number from 0, got 1\.0"),
        (("front",), [], r"chosen\.place must be below 0, the points of front"),
        (("chosen", "place"), 99, r"chosen\.place must be below \d+, the points of front, got 99"),
        (("chosen", "quasi_identifiers"), [], "chosen.quasi_identifiers must be those of the table, 'zip', 'age'"),
        (("suppressed", "rows"), 39, "suppressed.rows must be those of the chosen point"),
        (("suppressed", "how"), "hide", "suppressed.how must be 'mark' or 'drop', got 'hide'"),
        (("claims", 0, "measure"), "m", "claims must be of the measures 'k', 'l', 'GLM', got 'm'"),
        (("settings", "constraints", 0, "measure"), "m", "constraints must be of the measures"),
        (("settings", "measures", 1, "name"), "k", "settings.measures must have different names, got 'k', 'k', 'GLM'"),
        (("settings", "measures", 0, "better"), "up", r"measures\[0\]\.better must be 'higher' or 'lower', got 'up'"),
        (("format",), "another", "format must be 'pymoo_anon evidence', got 'another'"),
        (("version",), True, "must be evidence of version 8, got version True"),
        (("checksums", "output", "out.csv"), "0" * 63, "checksums.output.out.csv must be a sha256"),
        (("software", "packages", "numpy"), None, "software.packages.numpy must be text, got None"),
        (("search", "certified"), 1, "search.certified must be true or false, got 1"),
    ],
)
def test_evidence_that_is_not_whole(place, value, message):
    with pytest.raises(ValueError, match=message) as caught:
        check_content(changed(told(), place, value), "content")
    assert str(caught.value).startswith("content")


def test_the_place_after_the_last_point_is_none():
    content = told()
    with pytest.raises(ValueError, match=r"chosen\.place must be below"):
        check_content(changed(content, ("chosen", "place"), len(content["front"])), "content")


def test_measures_without_an_objective_are_refused():
    content = told()
    for measure in content["settings"]["measures"]:
        measure["objective"] = False
    with pytest.raises(ValueError, match=r"settings\.measures must have an objective, got none"):
        check_content(content, "content")


def places_of(part, before=()):
    """Yield every place of evidence."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield (*before, key)
        yield from places_of(part[key], (*before, key))


def refusal(content):
    """Return the error message of refused evidence, or an empty text."""
    try:
        check_content(content, "content")
    except ValueError as error:
        return str(error)
    return ""


def test_any_damage_is_a_clear_sentence_or_harmless():
    """Raise ValueError in one line for damaged evidence, or read it.

    Every part is taken away or replaced in turn.
    """
    content = told()
    values = (..., None, True, -1, 2.5, "x", [], {}, [None], {"x": 1}, "infinity")
    said = [refusal(changed(content, place, value)) for place in list(places_of(content)) for value in values]
    refused = [text for text in said if text]
    assert len(refused) > 1000
    assert all(text.isprintable() and len(text) < 400 for text in refused)
    assert "must be a whole number from 0, got True" in refusal(changed(content, ("table", "n_rows"), True))
