"""Local recodings: fronts, and what their weights are worth."""
