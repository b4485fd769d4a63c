"""What is said where something is refused."""

import pytest


def refused(error, action):
    """The message of an error that an action has to raise."""
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)
