"""Pictures: the data of a picture is collected first, then drawn."""

from pymoo_anon.visualization.bias import VectorPicture, plot_quantiles, plot_tuples, quantile_picture, tuple_picture
from pymoo_anon.visualization.fronts import (
    Axis,
    ConvergencePicture,
    FrontPicture,
    convergence_picture,
    front_picture,
    plot_convergence,
    plot_front,
    plot_fronts,
)
from pymoo_anon.visualization.lattice import LatticePicture, lattice_picture, plot_lattice

__all__ = [
    "Axis",
    "ConvergencePicture",
    "FrontPicture",
    "LatticePicture",
    "VectorPicture",
    "convergence_picture",
    "front_picture",
    "lattice_picture",
    "plot_convergence",
    "plot_front",
    "plot_fronts",
    "plot_lattice",
    "plot_quantiles",
    "plot_tuples",
    "quantile_picture",
    "tuple_picture",
]
