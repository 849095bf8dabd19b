"""Every public function, class, method and property has a docstring that says what it takes.

The names are those below `tf`: of the API tables, of the modules that load on first use, and the operations. A method
that has no docstring of its own has that of the method which it overrides, as `help` and Jupyter show it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import tfnb as tf
from tfnb import client, ops, summary, train
from tfnb.ir.opdef import OpDef

API = ops.API | client.API | train.API | summary.API | tf._REST

# Parameters of every operation or layer, which mean the same everywhere: the node's name and the like.
COMMON = {"self", "cls", "name", "scope", "args", "kwargs", "reuse", "dtype", "seed", "collections"}


# The docstrings that are still to be written: module or class -> names. This list only shrinks.
_LACKING: dict[str, str] = {
    "tfnb.client.dataset.api": (
        "make_initializable_iterator make_one_shot_iterator parallel_interleave shuffle_and_repeat"
    ),
    "tfnb.client.dataset.dataset.Dataset": "output_classes output_shapes output_types zip",
    "tfnb.client.dataset.iterators.Iterator": "from_string_handle output_classes output_shapes output_types",
    "tfnb.datasets.batches.DataSet": "num_examples",
    "tfnb.datasets.vocabulary.ByteProcessor": "fit_transform",
    "tfnb.datasets.vocabulary.VocabularyProcessor": "fit_transform",
    "tfnb.errors.OpError": "node_name",
    "tfnb.ir.builder.GraphBuilder": "device get_operation_by_name get_operations get_tensor_by_name graph version",
    "tfnb.ir.collect.Collections": (
        "add_to_collection add_to_collections clear_collection get_all_collection_keys get_collection_ref "
        "is_feedable is_fetchable prevent_feeding prevent_fetching"
    ),
    "tfnb.ir.device_spec.DeviceSpec": "matches to_string",
    "tfnb.ir.indexed.IndexedSlices": "device dtype get_shape graph name op",
    "tfnb.ir.operation.Operation": "set_spec traceback type",
    "tfnb.ir.sparse.SparseTensor": "dense_shape dtype get_shape graph indices name op values",
    "tfnb.ir.tensor": "is_tensor_like",
    "tfnb.ir.tensor.Tensor": "consumers device dtype name shape spec value_index",
    "tfnb.ops.array.array_functions": "polyval reduce_euclidean_norm reduce_std reduce_variance",
    "tfnb.ops.array.shape_ops": "expand_dims squeeze",
    "tfnb.ops.catalog": "in_top_k regex_full_match",
    "tfnb.ops.conv_pool.depthwise": "depthwise_conv2d_native",
    "tfnb.ops.image.color": "random_contrast random_saturation",
    "tfnb.ops.logging.assertions": "is_numeric_tensor",
    "tfnb.ops.math.reduce_functions": "reduce_logsumexp",
    "tfnb.ops.nn.ctc_decode": "ctc_beam_search_decoder_v2",
    "tfnb.session.session.Session": "closed compiled graph",
    "tfnb.summary.writer.FileWriter": "add_meta_graph",
    "tfnb.train.estimators.estimator.Estimator": "train",
    "tfnb.train.estimators.model.Model": "load",
    "tfnb.train.hooks.basic_hooks.FeedFnHook": "before_run",
    "tfnb.train.hooks.basic_hooks.FinalOpsHook": "end final_ops_values",
    "tfnb.train.hooks.basic_hooks.GlobalStepWaiterHook": "before_run",
    "tfnb.train.hooks.basic_hooks.LoggingTensorHook": "after_run before_run end",
    "tfnb.train.hooks.basic_hooks.NanTensorHook": "after_run before_run",
    "tfnb.train.hooks.basic_hooks.StepCounterHook": "after_run before_run",
    "tfnb.train.hooks.basic_hooks.StopAtStepHook": "after_run before_run",
    "tfnb.train.hooks.saving_hooks.CheckpointSaverHook": "after_run before_run end",
    "tfnb.train.hooks.saving_hooks.CheckpointSaverListener": "after_save before_save end",
    "tfnb.train.hooks.saving_hooks.SummarySaverHook": "after_run before_run end",
    "tfnb.train.hooks.session_run_hook.SessionRunContext": "stop_requested",
    "tfnb.train.hooks.session_run_hook.SessionRunHook": "after_run before_run end",
    "tfnb.train.hooks.timer.SecondOrStepTimer": "last_triggered_step should_trigger_for_step",
    "tfnb.train.input.queue_runner": "add_queue_runner",
    "tfnb.train.input.queue_runner.QueueRunner": (
        "cancel_op close_op enqueue_ops name queue queue_closed_exception_types"
    ),
    "tfnb.train.optimizers.base.Optimizer": "get_name get_slot get_slot_names",
    "tfnb.train.optimizers.learning_rate_decay": (
        "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay "
        "natural_exp_decay noisy_linear_cosine_decay polynomial_decay"
    ),
    "tfnb.train.optimizers.moving_averages.ExponentialMovingAverage": "name",
    "tfnb.train.optimizers.sync_replicas.SyncReplicasOptimizer": "get_slot get_slot_names make_session_run_hook",
    "tfnb.train.saving.checkpoint_reader.CheckpointReader": (
        "get_variable_to_dtype_map get_variable_to_shape_map has_tensor"
    ),
    "tfnb.train.saving.checkpoint_state": "checkpoint_exists get_checkpoint_mtimes",
    "tfnb.train.saving.saved_model": "maybe_saved_model_directory",
    "tfnb.train.saving.saver.Saver": "recover_last_checkpoints saver_def set_last_checkpoints_with_time",
    "tfnb.train.sessions.cluster_spec.ClusterSpec": "num_tasks task_address task_indices",
    "tfnb.train.sessions.coordinator.Coordinator": "joined should_stop wait_for_stop",
    "tfnb.train.sessions.coordinator.LooperThread": "loop",
    "tfnb.train.sessions.monitored_session._Monitored": "graph run",
    "tfnb.train.sessions.scaffold.ChiefSessionCreator": "create_session",
    "tfnb.train.sessions.scaffold.Scaffold": "get_or_default",
    "tfnb.train.sessions.scaffold.SessionCreator": "create_session",
    "tfnb.train.sessions.scaffold.WorkerSessionCreator": "create_session",
    "tfnb.train.sessions.supervisor.Supervisor": (
        "Loop loop should_stop start_queue_runners start_standard_services summary_computed"
    ),
    "tfnb.train.testing": "compute_gradient_error is_gpu_available",
    "tfnb.train.testing.TestCase": (
        "assertAllClose assertAllCloseAccordingToType assertAllEqual assertArrayNear assertNDArrayNear assertNear "
        "assertRaisesOpError assertShapeEqual assertStartsWith"
    ),
    "tfnb.types.DType": "is_compatible_with",
    "tfnb.types.Shape": "assert_is_compatible_with concatenate is_compatible_with",
}
LACKING = {f"{place}.{name}" for place, names in _LACKING.items() for name in names.split()}


class Public(NamedTuple):
    """Something that users can reach. `name`: where it is defined, `path`: how a user writes it."""

    name: str
    path: str
    value: Any
    doc: str

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters without a default that are not of every operation."""
        if isinstance(self.value, property):
            return []
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [
            p
            for p in inspect.signature(self.value).parameters.values()
            if p.name not in COMMON and p.kind not in kinds and p.default is p.empty and not p.name.startswith("_")
        ]


def ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] == "tfnb"


def reachable() -> Iterator[tuple[str, Any]]:
    """(path, value) of all public names, without the modules."""
    done: set[int] = set()

    def visit(path: str, value: Any) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, ModuleType):
            yield path, value
        elif value.__name__.split(".")[0] == "tfnb" and getattr(value, "__file__", None) and id(value) not in done:
            done.add(id(value))
            for name in getattr(value, "__all__", ()):
                yield from visit(f"{path}.{name}", getattr(value, name))

    for dotted in API:
        value: Any = tf
        for part in dotted.split("."):
            value = getattr(value, part)
        yield from visit(f"tf.{dotted}", value)
    for name in dir(tf):
        value = getattr(tf, name)
        if name in tf._LAZY or not isinstance(value, ModuleType):
            yield from visit(f"tf.{name}", value)


def members(owner: type) -> Iterator[tuple[str, Any, str]]:
    """(qualified name, function or property, docstring) of what is public in a class and its bases of this package."""
    for base in owner.__mro__:
        for name, member in vars(base).items() if ours(base) else ():
            function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if not name.startswith("_") and (isinstance(function, property) or inspect.isfunction(function)):
                doc = inspect.getdoc(getattr(base, name)) or ""
                yield f"{base.__module__}.{base.__qualname__}.{name}", function, doc


@cache
def public() -> dict[str, Public]:
    found: dict[str, Public] = {}
    for path, value in reachable():
        if isinstance(value, OpDef):
            found.setdefault(f"op {value.name}", Public(f"op {value.name}", path, value, value.doc))
        elif (inspect.isclass(value) or inspect.isfunction(value)) and ours(value):
            name = f"{value.__module__}.{value.__qualname__}"
            found.setdefault(name, Public(name, path, value, value.__doc__ or ""))
            for full, function, doc in members(value) if inspect.isclass(value) else ():
                found.setdefault(full, Public(full, f"{path}.{full.rpartition('.')[2]}", function, doc))
    return found


# What a docstring may say of a parameter instead of its name: the kind of value, a shape, or where it is described.
KIND = re.compile(
    r"""\b(tensor|scalar|vector|matri(x|ce)|batch(es)?|element|row|value|variable|node|operation|list|sequence|tuple
        |string|text|bytes|integer|float|bool|number|int32|int64|float32|dtype|shape|name|path|file|folder|function
        |image|pixel|object|class(es)?)s?\b
        |\([^)]*,[^)]*\)                 # a shape, or a tuple
        |\b([Ss]ee|[Aa]s)\ `|`tf\.       # another docstring
    """,
    re.VERBOSE,
)


def mentions(doc: str, parameter: str) -> bool:
    """Whether a docstring contains a parameter's name, in singular or plural, or each word of it."""
    words = {w.lower().rstrip("s") for w in re.findall(r"[A-Za-z0-9]+", doc)}
    return re.search(rf"\b{parameter}\b", doc) is not None or all(
        part.rstrip("s") in words for part in parameter.lower().split("_") if len(part) > 1
    )


def fault(item: Public) -> str:
    """What is wrong with a docstring, or an empty text."""
    doc = item.doc.strip()
    if not doc:
        return "no docstring"
    first = re.split(r"[.:?](?:[`\")]*)(?:\s|$)", doc)[0]
    if doc[len(first) :].startswith("?"):
        return "a question"
    if not re.search(r"[.:][`\")]*(\s|$)", doc) or len(doc.split()) < 2:
        return "no full sentence"
    if isinstance(item.value, OpDef) or inspect.isclass(item.value) or KIND.search(doc):
        return ""
    missing = [p.name for p in item.parameters if not mentions(doc, p.name)]
    return f"says nothing of {', '.join(missing)}" if missing else ""


def test_the_walk_reaches_the_api():
    assert len(public()) > 1_700
    assert {
        "tfnb.client.layers.dense_layers.Dense.call",
        "tfnb.client.variables.scope.get_variable",
        "tfnb.ir.tensor.Tensor.shape",
        "tfnb.ops.array.shape_ops.expand_dims",
        "tfnb.session.session.Session.run",
        "tfnb.train.saving.saver.Saver.save",
    } <= set(public())


@pytest.mark.parametrize(
    ("doc", "reason"),
    [
        ("", "no docstring"),
        ("Returns", "no full sentence"),
        ("Is it a tensor?", "a question"),
        ("The largest one along `axis`.", "says nothing of labels"),
        ("The label that is the largest along `axis`.", ""),
        ("The largest element along `axis`.", ""),
        ("As `tf.add`.", ""),
    ],
)
def test_a_bad_docstring_is_found(doc, reason):
    def function(labels, name=None): ...

    assert fault(Public("f", "tf.f", function, doc)) == reason


def test_every_docstring_is_complete():
    faults = {item.name: reason for item in public().values() if (reason := fault(item))}
    new = {name: reason for name, reason in faults.items() if name not in LACKING}
    assert new == {}


def test_the_list_of_exceptions_is_not_outdated():
    faulty = {item.name for item in public().values() if fault(item)}
    assert sorted(set(LACKING) - faulty) == []
