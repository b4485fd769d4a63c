"""What the figures of the README and of the pages in `results` come from: programs, each run by `python -m`."""
