"""Every example and every block of the README runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]

# pymoo's decision making imports a name that scipy has moved.
WARNINGS = "error,ignore::DeprecationWarning:pymoo.core.decision_making"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": WARNINGS}
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pymoo.core.decision_making")
def test_the_readme_runs(tmp_path, monkeypatch, adult_rows, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zip.csv").write_text("4711;47**;*\n4712;47**;*\n8000;80**;*")
    rng = np.random.default_rng(0)
    names = {
        "frame": pd.DataFrame(
            {
                "age": rng.integers(0, 100, 50),
                "zip": rng.choice(["4711", "4712", "8000"], 50),
                "sex": rng.choice(["Female", "Male"], 50),
                "diagnosis": rng.choice(["flu", "cold"], 50),
            }
        )
    }
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.M)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert {"PBGEA", "NSGA2", "Microdata"} <= set(names)


def test_the_readme_quotes_the_results():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for result in ("dewri2010", "engine", "exact"):
        for table in (ROOT / "benchmarks" / "results" / f"{result}.md").read_text(encoding="utf-8").split("\n\n"):
            if table.startswith("|"):
                assert table.strip() in readme
    for picture in re.findall(r"\]\((benchmarks/[^)]+)\)", readme):
        assert (ROOT / picture).is_file()
