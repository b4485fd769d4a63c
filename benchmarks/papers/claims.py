"""The table of the papers' claims, `results/claims.md`.

    python -m benchmarks.papers.claims

Every claim of `results/NAME.json` becomes a row; a paper without results, or results without claims, are an error. The
results of a paper that works out examples hold these instead: section, what, the paper's numbers and ours; an example
holds where the numbers are equal, or the words. Nothing is measured here.
"""

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

from benchmarks import record

#: By benchmark, the paper it reruns.
PAPERS = json.loads(Path(__file__).with_name("papers.json").read_text(encoding="utf-8"))


def claims(name: str) -> list[dict[str, str]]:
    """Read the claims of one benchmark.

    Raises:
        ValueError: There are no results, they have no claims, or a claim lacks a part.
    """
    path, results = record.RESULTS / f"{name}.json", record.stored(name)
    if not path.is_file():
        raise ValueError(f"results must be in {path}; python -m benchmarks.papers.{name} writes them")
    found = results.get("claims") or [example(*row) for row in results.get("paper", [])]
    if not found:
        raise ValueError(f"{path} must hold claims, got none; python -m benchmarks.papers.{name} writes them")
    for one in found:
        if not all(one.get(part) for part in record.CLAIM) or one["verdict"] not in record.VERDICTS:
            raise ValueError(f"{path} must tell of each claim {', '.join(record.CLAIM)}, got {one}")
    return found


def example(section: str, what: str, paper: str, here: str) -> dict[str, str]:
    ours = numbers(here)
    if paper.endswith("larger"):
        return record.claim(section, what, paper, here, [ours[0] > ours[1]])
    return record.claim(section, what, paper, here, [numbers(paper) == ours if ours else paper == here])


def numbers(shown: str) -> list[Fraction]:
    """Return the numbers of a text: whole numbers, decimals and fractions."""
    found = re.findall(r"\d{1,3}(?:,\d{3})+|\d+/\d+|\d+(?:\.\d+)?", shown)
    return [Fraction(one.replace(",", "")) for one in found]


def text() -> str:
    found = {name: claims(name) for name in PAPERS}
    verdicts = {name: Counter(one["verdict"] for one in of) for name, of in found.items()}
    counts = [[PAPERS[name], *(str(own[verdict]) for verdict in record.VERDICTS)] for name, own in verdicts.items()]
    papers = []
    for name, of in found.items():
        papers += [f"## {PAPERS[name]}", f"`python -m benchmarks.papers.{name}`", record.claims_table(of)]
    counted = record.markdown(["paper", *record.VERDICTS], counts)
    return record.words("claims", counts=counted, papers="\n\n".join(papers)) + "\n"


def main() -> None:
    (record.RESULTS / "claims.md").write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
