"""Vega for the report, with compiled charts kept on disk."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from pymoo_anon import __version__
from pymoo_anon._files import replaced

Spec = dict[str, Any]


def script() -> str:
    """Return the script of Vega, which needs no eval."""
    made = _cached("window.vegaEmbed = vegaEmbed;", _bundled)
    # These would end the script element too early.
    assert re.search(r"</script|<!--", made, re.IGNORECASE) is None
    return made


def compiled(specs: Sequence[Spec]) -> list[Spec]:
    """Compile Vega-Lite specifications."""
    made: list[Spec] = json.loads(_cached(json.dumps(specs), _compiled))
    return made


def _bundled(snippet: str) -> str:
    import vl_convert

    made: str = vl_convert.javascript_bundle(snippet)
    return made


def _compiled(specs: str) -> str:
    import vl_convert

    made = map(vl_convert.vegalite_to_vega, json.loads(specs))
    return json.dumps([{key: value for key, value in spec.items() if key != "$schema"} for spec in made])


def _cached(source: str, make: Callable[[str], str]) -> str:
    """Make a text of a source, or load it from the user's cache."""
    import pooch

    folder = pooch.os_cache("pymoo_anon")
    identity = f"{__version__} {version('vl-convert-python')} {make.__name__} {source}"
    path = folder / f"vega-{sha256(identity.encode()).hexdigest()[:32]}.zlib"
    # The checksum of zlib tells damaged files.
    with suppress(OSError, zlib.error, UnicodeDecodeError):
        return zlib.decompress(path.read_bytes()).decode()
    made = make(source)
    # A report needs no cache: a disk that is full or read-only has none.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            temporary.write_bytes(zlib.compress(made.encode()))
    return made
