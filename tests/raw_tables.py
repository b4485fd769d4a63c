"""Problems of small tables, of which each column without a role is kept or becomes a star."""

import pandas as pd

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

K_AND_LOSS = (KAnonymity(), GeneralLossMetric())


def raw_problem(columns, sensitive=(), person=None, objectives=K_AND_LOSS, suppression=0, **others):
    """Return the problem of a table, whose values are those of its columns."""
    frame = pd.DataFrame(columns)
    sensitive = [sensitive] if isinstance(sensitive, str) else [*sensitive]
    quasi = {name: Hierarchy.flat(dict.fromkeys(frame[name])) for name in frame if name not in (*sensitive, person)}
    table = Microdata.from_frame(frame, quasi, sensitive, person=person, **others)
    return LatticeProblem(table, objectives, suppression)
