"""What placeholders are fed: errors that name the placeholders whose values have to be asked for.

Invariant: a value that cannot be fed is never kept, so it is asked for again instead of refusing every later run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor

__all__ = ["MissingFeeds", "WrongFeed", "checked_feed"]


class MissingFeeds(InvalidArgumentError):
    """Placeholders have no feed yet; `needs` are their names."""

    def __init__(self, needs: Sequence[str], message: str = "") -> None:
        super().__init__(message or _missing(needs))
        self.needs = list(needs)


class WrongFeed(MissingFeeds):
    """The value that a placeholder was given cannot be fed to it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__([name], f"the feed of {name}: {reason}")


def checked_feed(name: str, text: str, value: object, placeholder: Tensor) -> object:
    """Returns the value if its shape and kind fit the placeholder. Raises `WrongFeed`.

    What is no array of numbers or texts is left to the session, which knows more kinds.
    """
    if not isinstance(value, np.ndarray | np.generic | list | tuple | int | float | complex | str | bytes):
        return value
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise WrongFeed(name, f"{text[:80]} is no array: {error}") from error
    wanted = placeholder.shape
    if not wanted.is_compatible_with(array.shape):
        raise WrongFeed(name, f"{text[:80]} has the shape {list(array.shape)}, and {name} needs {wanted}")
    is_text, needs_text = array.dtype.kind in "SUO", placeholder.dtype.name == "string"
    if is_text != needs_text and array.size:
        raise WrongFeed(name, f"{text[:80]} holds {array.dtype.name}, and {name} needs {placeholder.dtype.name}")
    return value


def _missing(needs: Sequence[str]) -> str:
    example = "digits.images(step)" if len(needs) == 1 else "digits.images(step) and digits.labels(step)"
    return f"{', '.join(needs)}: a placeholder needs a value, as Python, such as 0.5, np.ones([2, 3]) or {example}"
