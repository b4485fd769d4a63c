"""The only hot loops of the package: compiled by numba at their first call, and cached on disk.

Everything here takes and returns arrays; `equivalence.py` and the rooms above give them their names.
"""
