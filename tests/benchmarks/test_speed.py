"""The page of speed."""

import pickle

from benchmarks.speed.__main__ import HUGE, PARTS


def test_a_part_is_found_by_a_process_of_its_own():
    """Keep all parts out of the module that `python -m` runs, which no other process loads."""
    for measure in (*PARTS.values(), *HUGE.values()):
        function = getattr(measure, "func", measure)
        assert function.__module__ != "benchmarks.speed.__main__"
        assert getattr(pickle.loads(pickle.dumps(measure)), "func", function) is function
