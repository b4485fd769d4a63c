"""The programs behind all figures in `results` and the README."""
