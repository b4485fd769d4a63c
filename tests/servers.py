"""A PostgreSQL server that a test starts and stops."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

#: The password of the user tester, where there is one.
PASSWORD = "s3cret-of-tester"


@contextmanager
def postgres_server(auth="trust"):
    """Start a PostgreSQL server on a socket in a folder of its own, and yield the folder.

    Its user must reach the folder, and the path of a socket has at most 107 characters.
    """
    if shutil.which("postgres") is None or shutil.which("initdb") is None:
        pytest.skip("PostgreSQL is not installed")
    with TemporaryDirectory() as name:
        folder, ownership = Path(name), []
        (folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            shutil.chown(folder, "postgres")
            ownership = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        run = [*ownership, "initdb", "-D", str(folder / "data"), "-U", "tester", f"--auth={auth}", "--encoding=UTF8"]
        run += [] if auth == "trust" else ["--pwfile", str(folder / "password")]
        subprocess.run(run, check=True, capture_output=True, cwd=folder)
        options = ["-D", str(folder / "data"), "-k", str(folder), "-c", "listen_addresses="]
        with subprocess.Popen(
            [*ownership, "postgres", *options], cwd=folder, stderr=subprocess.PIPE, text=True
        ) as server:
            said = []
            for line in server.stderr:
                said.append(line)
                if "ready to accept connections" in line:
                    break
            assert server.poll() is None, said
            yield folder
            server.terminate()
            server.stderr.read()
