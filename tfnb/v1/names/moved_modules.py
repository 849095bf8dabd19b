"""Modules of tfnb that have moved into this house: a pickle or a program that names the old place still finds them.

A finder at the start of `sys.meta_path` answers for these names alone. It comes before Python's own, which would load a
module of a moved package a second time under its old name. Invariant: the module under the
old name is the very module of the new one, so that classes stay the same classes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "find_moved_modules", "place_of"]

# "old place : new place", below tfnb; of two that fit a name the longer one counts.
_TABLE = """
client.bijectors : v1.bijectors
client.compat : v1.python_internals
client.compat.aliases : v1.names.aliases
client.compat.arg_scope : v1.contrib.framework.arg_scope
client.compat.build_facts : v1.python_internals.version
client.compat.contrib_layers : v1.contrib.layers.standard_layers
client.compat.contrib_modules : v1.names.contrib_modules
client.compat.contrib_seq2seq : v1.seq2seq.sequence_loss
client.compat.contrib_stacks : v1.contrib.layers.stacks
client.compat.conversions : client.graph.tensor_conversion
client.compat.cosine_transforms : client.signal.cosine_transforms
client.compat.generated_modules : v1.python_internals.generated_modules
client.compat.internal_modules : v1.names.internal_modules
client.compat.late_core : v1.python_internals.seldom_used
client.compat.late_names : v1.python_internals.behaviour_switches
client.compat.later_functions : v1.python_internals.static_values_printing
client.compat.model_variables : v1.contrib.framework.model_variables
client.compat.nest_functions : client.graph.nest_functions
client.compat.python_helpers : v1.python_internals.python_helpers
client.compat.raw_ops : client.graph.raw_ops
client.compat.refused : v1.names.refused
client.compat.resource_ops : v1.python_internals.resource_ops
client.compat.source_functions : v1.python_internals.source_functions
client.compat.text_and_types : v1.python_internals.text_and_types
client.compat.type_specs : client.dataset.type_specs
client.contrib : v1.contrib
client.contrib.framework.library_facts : v1.contrib.framework.registered_ops
client.contrib.gan_losses : v1.contrib.gan.losses
client.contrib.hparams : v1.contrib.training.hparams
client.contrib.layers.rearranged : v1.contrib.layers.rearrangements
client.contrib.signal : client.signal.spectra
client.dataset.late_functions : client.dataset.variants_resampling
client.distributions : v1.distributions
client.distributions.late_continuous : v1.distributions.further_continuous
client.distributions.late_discrete : v1.distributions.further_discrete
client.feature_columns : v1.feature_columns
client.linear_operators : v1.linear_operators
client.logging.late_checks : client.logging.rank_dtype_checks
client.platform.late_gfile : client.platform.io_gfile
client.seq2seq : v1.seq2seq
old_programs : v1.programs
tf_keras : v1.keras
train.contrib : v1.contrib
train.contrib.adam_variants : v1.contrib.opt.adam_variants
train.contrib.checkpoints : v1.contrib.framework.checkpoints
train.contrib.evaluation : v1.contrib.training.evaluation
train.contrib.gan : v1.contrib.gan.training
train.contrib.mnist_tutorial : v1.programs.mnist_tutorial
train.contrib.pruned_layers : v1.contrib.model_pruning.masked_layers
train.contrib.pruning : v1.contrib.model_pruning.pruning
train.contrib.quantize : v1.contrib.quantize
train.contrib.sign_optimizers : v1.contrib.opt.sign_optimizers
train.contrib.slim_data : v1.contrib.slim.data
train.contrib.slim_evaluation : v1.contrib.slim.evaluation
train.contrib.slim_learning : v1.contrib.slim.learning
train.contrib.slim_train_op : v1.contrib.slim.train_op
train.contrib.summary_testing : v1.contrib.summary.testing
train.contrib.train_op : v1.contrib.training.train_op
train.contrib.wrapping_optimizers : v1.contrib.opt.wrapping_optimizers
train.contrib.written_summaries : v1.contrib.summary.writers
train.estimators : v1.estimators
train.estimators.late_parts : v1.estimators.contrib_heads
train.estimators.parts : v1.estimators.model_parts
train.inner_functions : v1.python_internals.training_functions
train.learn : v1.learn
"""
MOVED = dict(sorted((line.split(" : ") for line in _TABLE.strip().splitlines()), key=lambda row: -len(row[0])))


def place_of(name: str) -> str | None:
    """Returns the dotted name that the module with the old dotted `name` has now, None if it has not moved."""
    for old, new in MOVED.items():
        if name == f"tfnb.{old}" or name.startswith(f"tfnb.{old}."):
            return f"tfnb.{new}{name[len('tfnb.') + len(old) :]}"
    return None


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        place = place_of(fullname) if fullname.startswith("tfnb.") else None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=place) if place is not None else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own specification back: Python has put that of the old name there."""
        spec = module.__spec__
        if spec is not None and spec.loader is self:  # type: ignore[comparison-overlap]  # see find_spec
            module.__spec__ = spec.loader_state


_finder: Any = _Finder()


def find_moved_modules() -> None:
    """Lets the old names be found in this process, once."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
