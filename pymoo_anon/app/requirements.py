"""Step: requirements."""

from pymoo_anon.app.screen import Screen


def show(screen: Screen) -> None:
    """Show."""
