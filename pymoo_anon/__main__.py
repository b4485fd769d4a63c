"""The command line as a module: `python -m pymoo_anon`."""

from pymoo_anon.cli import main

if __name__ == "__main__":
    main()
