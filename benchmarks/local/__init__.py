"""Local recodings: fronts, bounds, utility, and the value of weights."""
