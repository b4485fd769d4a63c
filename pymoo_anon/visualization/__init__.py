"""Pictures of fronts, lattices, convergence and bias."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later

if TYPE_CHECKING:
    from pymoo_anon.visualization.curves import plot_convergence, plot_quantiles, plot_tuples
    from pymoo_anon.visualization.fronts import plot_front, plot_fronts, plot_lattice

__all__ = ["plot_convergence", "plot_front", "plot_fronts", "plot_lattice", "plot_quantiles", "plot_tuples"]

__getattr__ = later(__name__)
