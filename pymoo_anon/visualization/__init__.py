"""Pictures: the data of a picture is collected first, then drawn."""

from pymoo_anon.visualization.bias import VectorPicture, plot_quantiles, plot_tuples, quantile_picture, tuple_picture
from pymoo_anon.visualization.fronts import Axis, FrontPicture, front_picture, plot_front, plot_fronts

__all__ = [
    "Axis",
    "FrontPicture",
    "VectorPicture",
    "front_picture",
    "plot_front",
    "plot_fronts",
    "plot_quantiles",
    "plot_tuples",
    "quantile_picture",
    "tuple_picture",
]
