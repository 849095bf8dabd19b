"""The modules of TensorFlow's source that programs import, each with the places of `tf.` whose names it shows.

Invariant: a module stands in one of the three tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfnb.v1.names import contrib_layers, contrib_modules, internal_modules

__all__ = ["VIEWS"]

VIEWS: Mapping[str, Sequence[str]] = {**contrib_modules.VIEWS, **internal_modules.VIEWS, **contrib_layers.VIEWS}
