"""File names that match a pattern, looked up once (`tf.train.match_filenames_once`; white paper, section 4.5).

Invariant: the names are a local variable, so all epochs of an input pipeline see the same list.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import TensorLike
from tfnb.ops.io.files import MATCHING_FILES

__all__ = ["API", "match_filenames_once"]


def match_filenames_once(pattern: TensorLike, name: str = "matching_filenames") -> Variable:
    """Returns a local variable, a string vector: the names of the files that match `pattern`, one or several.

    Initialising the local variables (`tf.local_variables_initializer`) looks the names up.
    """
    return Variable(
        MATCHING_FILES(pattern),
        trainable=False,
        validate_shape=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        name=name,
    )


API: dict[str, Any] = {"train.match_filenames_once": match_filenames_once}
