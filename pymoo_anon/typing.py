"""Types of arrays, and a type variable."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Numbers32 = NDArray[np.uint32]

#: Any type, the same at all its places in a signature.
T = TypeVar("T")
