"""Messages of expected errors."""

import pytest


def refused(error, action):
    """Return the message of an error that an action has to raise."""
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)
