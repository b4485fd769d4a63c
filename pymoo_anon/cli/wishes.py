"""What `pymoo-anon pick` is asked for, and what can be refused before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pymoo_anon.cli.settings import number, parts_of

#: The file with the choice, beside the front.
CHOICE = "choice.json"

# The options that say which point to take.
_WAYS = ("least", "most", "row", "knee", "weights")


@dataclass(frozen=True)
class Wish:
    """Every option of a choice, by the name it has on the command line.

    Attributes:
        file: The project file, or None.
        require: Bounds such as "k>=5".
        risk: The greatest risk of a person, or None.
        least: Name of the measure that is to be least, or None.
        most: Name of the measure that is to be greatest, or None.
        row: The row of the front, from 1 as it is printed, or None.
        knee: Whether to take the knee.
        weights: Weights such as "k=1,GLM=2", or None.
        evidence: A file of evidence to look at in place of a project, or None.
    """

    file: Path | None
    require: list[str]
    risk: float | None
    least: str | None
    most: str | None
    row: int | None
    knee: bool
    weights: str | None
    evidence: Path | None

    def check(self) -> None:
        """Refuse what is wrong whatever the front holds."""
        asked = [name for name in (*_WAYS, "require", "risk") if getattr(self, name) not in (None, False, [])]
        if (self.file is None) == (self.evidence is None):
            got = "neither" if self.file is None else "both"
            raise ValueError(f"pick takes a project file, FILE.toml, or --evidence FILE.json, got {got}")
        if self.evidence is not None and asked:
            raise ValueError(f"--{asked[0]} means nothing with --evidence, where the choice has been made")
        ways = [f"--{name}" for name in asked if name in _WAYS]
        if len(ways) > 1:
            raise ValueError(f"one option must say which point to take, got {' and '.join(ways)}")
        if self.weights is not None:
            self.weighted()

    def weighted(self) -> dict[str, float]:
        """The weights by the name of their measure."""
        assert self.weights is not None
        found: dict[str, float] = {}
        for part in parts_of(self.weights):
            # The last sign is the weight's: the name of a column may hold one, too.
            name, sign, weight = part.rpartition("=")
            if not sign or not name.strip():
                raise ValueError(f"weights must be such as 'k=1,GLM=2', got {part!r}")
            if name.strip() in found:
                raise ValueError(f"weights must name each measure once, got {name.strip()!r} twice")
            found[name.strip()] = number("weights", weight.strip())
        return found
