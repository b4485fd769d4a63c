"""Script that runs programs one after the other in one process.

python examples_in_turn.py FOLDER PROGRAM ...

Modules are loaded once. Each program has a folder of its own below FOLDER to stand in, and leaves there what it printed
and, where it failed, how.
"""

import os
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

OUTPUT, ERROR = "printed.txt", "error.txt"


def run(program, folder):
    """Run a program in a new folder."""
    folder.mkdir()
    os.chdir(folder)
    with open(folder / OUTPUT, "w", encoding="utf-8") as printed, redirect_stdout(printed):
        sys.argv = [program]
        try:
            runpy.run_path(program, run_name="__main__")
        except BaseException:
            (folder / ERROR).write_text(traceback.format_exc(), encoding="utf-8")


if __name__ == "__main__":
    below, *programs = sys.argv[1:]
    for one in programs:
        run(one, Path(below).resolve() / Path(one).stem)
