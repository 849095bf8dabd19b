"""tfnb: a Jupyter-first research environment for stateful dataflow graphs.

`import tfnb as tf` gives the graph-mode API of TensorFlow 0.6 to 1.x. This module is the package's edge: it lays the
public names out, and loads what is heavy (devices, widgets) when it is first used. Invariant: a public name stands
in the API table of exactly one module.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from tfnb import client as _client
from tfnb import errors as errors
from tfnb import ops as _ops
from tfnb import summary as _summary
from tfnb import train as _train
from tfnb.caches import clear_caches as clear_caches
from tfnb.caches import list_caches as list_caches
from tfnb.client.graph.create_op import OPERATORS as _GRAPH_OPERATORS
from tfnb.client.namespace import Lazy as _Lazy
from tfnb.client.namespace import lay_out as _lay_out
from tfnb.client.namespace import refuse as _refuse
from tfnb.client.namespace import show_elsewhere as _show_elsewhere
from tfnb.client.namespace import show_names as _show_names
from tfnb.errors import OpError as OpError
from tfnb.ir.tensor import install_operators as _install_operators
from tfnb.session.default import evaluate as _evaluate
from tfnb.session.default import get_default_session as get_default_session
from tfnb.session.default import run_operation as _run_operation
from tfnb.tf_keras import names as _keras_names

__version__ = "0.1.0"

# name -> module, imported on first use
_LAZY = {
    "Session": "tfnb.session.api",
    "InteractiveSession": "tfnb.session.api",
    "ConfigProto": "tfnb.session.api",
    "GPUOptions": "tfnb.session.api",
    "GraphOptions": "tfnb.session.api",
    "OptimizerOptions": "tfnb.session.api",
    "RunOptions": "tfnb.session.api",
    "RunMetadata": "tfnb.session.api",
    "list_devices": "tfnb.session.api",
    "profile": "tfnb.session.api",
    "timeline": "tfnb.notebook.traces.view",
    "show_cluster": "tfnb.notebook.cluster_view",
    "compare": "tfnb.notebook.comparison",
    "builder": "tfnb.notebook.builder.widget",
    "show_graph": "tfnb.notebook.graph.widget",
    "show_passes": "tfnb.notebook.graph.pass_view",
    "count_parameters": "tfnb.notebook.graph.pass_view",
    "Summary": "tfnb.summary",
    "SummaryMetadata": "tfnb.summary",
    "HistogramProto": "tfnb.summary",
    "Event": "tfnb.summary",
    "SessionLog": "tfnb.summary",
    "LogMessage": "tfnb.summary",
    "GraphDef": "tfnb.ir.messages",
    "NodeDef": "tfnb.ir.messages",
    "AttrValue": "tfnb.ir.messages",
    "NameAttrList": "tfnb.ir.messages",
    "MetaGraphDef": "tfnb.ir.messages",
    "TensorProto": "tfnb.ir.messages",
    "test": "tfnb.train.testing",
    "Model": "tfnb.train.estimators.model",
    "notebook": "tfnb.notebook",
    "view": "tfnb.notebook.viewer",
    "datasets": "tfnb.datasets",
    "install": "tfnb.old_programs.hook",
    "uninstall": "tfnb.old_programs.hook",
    "real_tensorflow": "tfnb.old_programs.hook",
}


def __getattr__(name: str) -> _Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'tfnb' has no attribute {name!r}")
    loaded = _import_module(module)
    value = loaded if module == f"tfnb.{name}" else getattr(loaded, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(n for n in {*globals(), *_LAZY, *globals().get("__lazy__", ())} if not n.startswith("_"))


def load_ipython_extension(shell: _Any) -> None:
    """Adds the magics %tfnb, %%tfnb_build, %%tfnb_profile and %%tensorflow to the `shell`, for `%load_ext tfnb`."""
    _import_module("tfnb.notebook.magics").register(shell)


def _read_mnist(
    train_dir: _Any = None,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: _Any = "float32",
    reshape: bool = True,
    validation_size: int | None = None,
    seed: int | None = None,
    source_url: _Any = None,
) -> _Any:
    """Returns the digits in `train_dir`, or else those of the package, as `input_data.read_data_sets` of the tutorials.
    Nothing is downloaded.
    """
    mnist = _import_module("tfnb.datasets.mnist")
    return mnist.read_data_sets(train_dir, fake_data, one_hot, dtype, reshape, validation_size, seed, source_url)


def _preprocessing(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.datasets.vocabulary"), name))


def _of_cluster(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.session.dask"), name))


def _table(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.datasets.tables"), name))


def _device_list(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.session.device_lists"), name))


def _shipped(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.datasets.mnist"), name))


def _of_estimators(name: str) -> _Lazy:
    return _Lazy(lambda: getattr(_import_module("tfnb.train.estimators.api"), name))


_ESTIMATORS = (
    "BaselineClassifier BaselineEstimator BaselineRegressor BestExporter BinaryClassHead "
    "DNNClassifier DNNEstimator DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor "
    "DNNRegressor Estimator EstimatorSpec EvalSpec Exporter "
    "FinalExporter Head LatestExporter LinearClassifier LinearEstimator "
    "LinearRegressor LogisticRegressionHead ModeKeys MultiClassHead MultiHead "
    "MultiLabelHead PoissonRegressionHead RegressionHead RunConfig TrainSpec "
    "VocabInfo WarmStartSettings add_metrics export inputs "
    "train_and_evaluate "
).split()
_REST = {
    **{f"estimator.{name}": _of_estimators(name) for name in _ESTIMATORS},
    **{
        f"contrib.learn.preprocessing.{name}": _preprocessing(name)
        for name in ("VocabularyProcessor", "CategoricalVocabulary", "ByteProcessor", "tokenizer")
    },
    **{
        f"examples.tutorials.mnist.input_data.{name}": _shipped(name)
        for name in ("maybe_download", "extract_images", "extract_labels", "VALIDATION_SIZE")
    },
    **{
        f"contrib.learn.datasets.{place}{name}": _table(name)
        for place in ("", "base.")
        for name in ("load_boston", "load_dataset", "load_iris", "make_dataset")
        if not (place and name in ("load_dataset", "make_dataset"))
    },
    **{
        f"contrib.learn.datasets.base.{name}": _table(name)
        for name in ("Dataset", "Datasets", "load_csv_with_header", "load_csv_without_header")
    },
    **{
        f"config.{public}": _device_list(name)
        for public, name in (
            ("experimental.get_visible_devices", "list_physical_devices"),
            ("experimental.list_logical_devices", "list_logical_devices"),
            ("experimental.list_physical_devices", "list_physical_devices"),
            ("experimental_list_devices", "experimental_list_devices"),
        )
    },
    "contrib.learn.datasets.mnist.dense_to_one_hot": _Lazy(
        lambda: _import_module("tfnb.datasets.batches").dense_to_one_hot
    ),
    "train.DaskCluster": _of_cluster("DaskCluster"),
    "train.Server": _of_cluster("Server"),
    "examples.tutorials.mnist.input_data.read_data_sets": _read_mnist,
    "contrib.learn.datasets.mnist.read_data_sets": _read_mnist,
    "contrib.learn.python.learn.datasets.mnist.read_data_sets": _read_mnist,
    "contrib.learn.datasets.mnist.DataSet": _Lazy(lambda: _import_module("tfnb.datasets.batches").DataSet),
    "contrib.learn.python.learn.datasets.mnist.DataSet": _Lazy(lambda: _import_module("tfnb.datasets.batches").DataSet),
    "python.client.device_lib.list_local_devices": _Lazy(lambda: _import_module("tfnb.session.api").list_local_devices),
    "python.client.timeline.Timeline": _Lazy(lambda: _import_module("tfnb.session.api").Timeline),
}

_install_operators({"eval": _evaluate, "run": _run_operation, **_GRAPH_OPERATORS})
_lay_out(
    _sys.modules[__name__],
    _ops.API | _client.API | _train.API | _summary.API | _keras_names.API | _REST,
)
_show_names(_sys.modules[__name__], _client.ALIASES)
_show_elsewhere(_sys.modules[__name__], _client.VIEWS)
_refuse(_sys.modules[__name__], _client.REFUSED_PACKAGES, _client.REFUSED_NAMES)

if "IPython" in _sys.modules:
    _import_module("tfnb.notebook.displays").register()
