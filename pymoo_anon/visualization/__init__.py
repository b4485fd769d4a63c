"""Pictures of fronts, lattices, convergence and bias."""

from pymoo_anon.visualization.curves import plot_convergence, plot_quantiles, plot_tuples
from pymoo_anon.visualization.fronts import plot_front, plot_fronts, plot_lattice

__all__ = ["plot_convergence", "plot_front", "plot_fronts", "plot_lattice", "plot_quantiles", "plot_tuples"]
