"""File names that a pattern matches, looked up once (`tf.train.match_filenames_once`; white paper, section 4.5).

Invariant: the names are a local variable, so every epoch of an input pipeline sees the same list.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.variable import Variable
from tfnb.ops.io.files import MATCHING_FILES

__all__ = ["API", "match_filenames_once"]


def match_filenames_once(pattern: Any, name: str = "matching_filenames") -> Variable:
    """A local variable that holds the names of the files matching `pattern`, one or several; a vector of strings.

    It is looked up when local variables are initialised (`tf.local_variables_initializer`).
    """
    return Variable(
        MATCHING_FILES(pattern),
        trainable=False,
        validate_shape=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        name=name,
    )


API: dict[str, Any] = {"train.match_filenames_once": match_filenames_once}
