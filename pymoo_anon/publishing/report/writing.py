"""Writing the report: one file that appears whole or not at all."""

from __future__ import annotations

import os

from numpy.typing import ArrayLike

from pymoo_anon._files import replaced
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.publishing.report.subject import Findings, checked_subject
from pymoo_anon.table.microdata import Microdata


def write_report(
    path: str | os.PathLike[str],
    problem: AnonymizationProblem,
    X: ArrayLike,
    chosen: int,
    *,
    findings: Findings | None = None,
    threshold: float = 0.09,
    population: Microdata | None = None,
    external: bool = False,
) -> None:
    """Write the report of a release: one HTML file that needs no network, at most 1.5 MB.

    It has six views: the front, the decision, class sizes, what changed, who pays, the evidence. Every chart has its
    numbers beside it as a table. Selecting a point of the front shows what the other views say of that point. Equal
    arguments give equal files.

    Args:
        path: Where to write; the file appears whole or not at all.
        problem: The problem whose front it is.
        X: (n, n_var) array, the front, such as `res.X`.
        chosen: The row of X that is released.
        findings: What is known of the front and the release: claims, evidence, proof. None where nothing is.
        threshold: The greatest risk to be found that is accepted. 0.09, which asks for classes of 12, is the one of
            EMA and Health Canada.
        population: A table of the population with the same quasi-identifiers, for the journalist risk.
        external: Leave out what must not leave the building: values that are not released, numbers of people below k
            (that of the release, at least that of the requirement), and the data of all other members of the front.

    Raises:
        TypeError: The problem is none, the findings are no `Findings`, or the population is no Microdata.
        ValueError: X is not of the problem, the chosen row is none of it, the threshold is no risk, or the population
            has other quasi-identifiers.
        OSError: The file cannot be written.
    """
    # Who only releases does not wait for what draws charts.
    from pymoo_anon.publishing.report.page import page

    subject = checked_subject(problem, X, chosen, findings, threshold, population, external)
    made = page(subject)
    with replaced(path) as temporary:
        temporary.write_text(made, encoding="utf-8", newline="\n")
