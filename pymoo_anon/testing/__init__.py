"""x."""
from pymoo_anon.testing.tables import small_problems
