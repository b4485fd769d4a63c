"""Damaged evidence, refused in one clear sentence."""

from evidence_of_a_release import changed, told

from pymoo_anon.publishing.evidence import check_content


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
