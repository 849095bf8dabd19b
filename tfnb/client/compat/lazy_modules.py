"""The public names whose modules load when a program uses one of them, so that `import tfnb` does not pay for them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf debugging : tfnb.client.logging.late_checks : assert_near assert_proper_iterable assert_rank_in
tf debugging : tfnb.client.logging.late_checks : assert_same_float_dtype assert_scalar
debugging : tfnb.client.logging.late_checks : assert_shapes
contrib.training : tfnb.client.contrib.hparams : HParams parse_values
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
