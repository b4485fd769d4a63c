"""The command line as a module: `python -m pymoo_anon`."""

from pymoo_anon.cli.app import app

if __name__ == "__main__":
    app(prog_name="pymoo-anon")
