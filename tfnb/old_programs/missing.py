"""The errors for names of TensorFlow that tfnb does not have, and what to use instead of them.

A program that asks with `hasattr` or catches `ImportError` goes on as it does without the name. Invariant: every such
error says that the program runs under tfnb.
"""

from __future__ import annotations

from types import ModuleType

from tfnb.errors import NotFoundError

__all__ = ["MissingModuleError", "MissingNameError", "advice", "missing_module", "missing_name"]

# The first part of a dotted name -> what to do instead. The longest part that matches counts.
_INSTEAD = {
    "compat.v2": "tfnb has the graphs of 1.x; programs of TensorFlow 2 need TensorFlow",
    "contrib.android": "phones are no target; write the graph with tf.train.write_graph",
    "contrib.autograph": "use tf.cond and tf.while_loop",
    "contrib.batching": "use tf.train.batch, or tf.data's batch",
    "contrib.bigtable": "there are no cloud services; read TFRecord files with tf.data",
    "contrib.boosted_trees": "there are no boosted trees; use tf.estimator.DNNClassifier, or a library of trees",
    "contrib.cloud": "there are no cloud services; read TFRecord files with tf.data",
    "contrib.cluster_resolver": "write the addresses into tf.train.ClusterSpec, or use tf.train.DaskCluster",
    "contrib.eager": "operations are nodes of a graph; use tf.Session",
    "contrib.gan": "write the two losses and their train ops as graph; tf.losses has the usual losses",
    "contrib.gdr": "tensors travel between the tasks of a tf.train.DaskCluster by themselves",
    "contrib.ignite": "there are no cloud services; read TFRecord files with tf.data",
    "contrib.kafka": "there are no cloud services; read TFRecord files with tf.data",
    "contrib.lite": "phones are no target; write the graph with tf.train.write_graph",
    "contrib.mpi": "tensors travel between the tasks of a tf.train.DaskCluster by themselves",
    "contrib.nccl": "use tf.add_n over the towers' gradients",
    "contrib.tensor_forest": "there are no forests; use a library of trees",
    "contrib.tensorrt": "kernels are OpenCL; leave the conversion out",
    "contrib.tpu": "there are no TPUs; use tf.estimator.Estimator and the optimizer itself",
    "contrib.verbs": "tensors travel between the tasks of a tf.train.DaskCluster by themselves",
    "enable_eager_execution": "operations are nodes of a graph; use tf.Session",
    "enable_v2_behavior": "tfnb has the graphs of 1.x; leave the call out",
    "lite": "phones are no target; write the graph with tf.train.write_graph",
    "python.debug": "tf.RunMetadata, tf.show_graph and tf.timeline show what a step did",
    "python.eager": "operations are nodes of a graph; use tf.Session",
    "python.pywrap_tensorflow": "the functions of C++ are not there; tf.train.NewCheckpointReader reads checkpoints",
    "python.tools": "tf.graph_util has freezing and stripping; tf.train.list_variables lists checkpoints",
    "tpu": "there are no TPUs; use tf.estimator.Estimator",
}


class MissingNameError(NotFoundError, AttributeError):
    """tfnb does not have this name of TensorFlow."""


class MissingModuleError(NotFoundError, ModuleNotFoundError):
    """tfnb does not have this module of TensorFlow."""


def advice(path: str) -> str:
    """Returns what to use instead of the missing name `path` ("contrib.tpu.TPUConfig"), or ""."""
    parts = path.split(".")
    known = (_INSTEAD.get(".".join(parts[:length])) for length in range(len(parts), 0, -1))
    return next(filter(None, known), "")


def missing_name(place: ModuleType, name: str, path: str) -> MissingNameError:
    """Returns the error for the attribute `name` of the module `place`, which is `path` ("nn.no_such") below
    tensorflow.
    """
    error = MissingNameError(f"module {place.__name__!r} has no attribute {name!r}: {_reason(path)}")
    error.name, error.obj = name, place  # from these Python's traceback proposes similar names
    return error


def missing_module(path: str) -> MissingModuleError:
    """Returns the error for the module tensorflow.`path`."""
    return MissingModuleError(f"no module named 'tensorflow.{path}': {_reason(path)}")


def _reason(path: str) -> str:
    instead = advice(path)
    return "this program runs under tfnb, which does not have it" + (f"; {instead}" if instead else "")
