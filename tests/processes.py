"""Python in a process of its own."""

import os
import subprocess
import sys


def python(*arguments, cwd=None, **environment):
    """Run Python with more in its environment, or less where it is None, and return the process that has ended."""
    told = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    call = [sys.executable, *map(str, arguments)]
    return subprocess.run(call, cwd=cwd, env=told, capture_output=True, text=True, check=False)
