"""The parts of TensorFlow's API that tfnb does not have, each with the reason and what to use instead.

What is refused will not come; what is absent only lacks. Invariant: a name below a refused place is never defined;
using it raises `AttributeError` with the reason. The table of docs/api_status.md is written from this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["LATER_NAMES", "NAMES", "PACKAGES", "advice", "reason_for"]

_TPU = "TPUs are machines of Google's cloud; the program with use_tpu=False, or without rewrite, runs on OpenCL devices"
_CLOUD = "it reads from services of a cloud; copy the data to files and read these"
_EAGER = "operations run in sessions here; build a graph, and run it with tf.Session"
_TRACING = "Python's source is not translated; use tf.cond and tf.while_loop"
_PHONES = "it converts models for phones; write a frozen graph with tf.graph_util, which TensorFlow's converter reads"
_FOREST = "its kernels are a library of their own; use scikit-learn's forests and boosted trees on NumPy arrays"
_XLA = "every graph is compiled here already; leave the call out"
_HARDWARE = "it needs hardware or a library of one vendor; leave it out, graphs are compiled for every OpenCL device"
_LABELS = "axes with names are xarray's subject; pass their values to tf.constant"
_CHANNELS = "tensors travel between the tasks of a tf.train.DaskCluster by themselves"
_TWO = "tfnb has the graphs of 1.x; programs of TensorFlow 2 need TensorFlow"
_CONTEXT = "it configures the eager context, which graphs do not have; give tf.Session a tf.ConfigProto"
_LIBRARY = "there is no library of C++ to compile against; define an operation with tf.register_op"
_SDCA = "its kernels are a library of their own; use tf.train.FtrlOptimizer, or scikit-learn's linear models"
_DATABASE = "it needs a library of a database; read the rows by Python, through tf.data.Dataset.from_generator"
_MEASURED = "it measures or rearranges TensorFlow's own input pipeline; leave it out, elements are the same without"
_OBJECTS = "it saves trees of Python objects, which belong to TensorFlow 2; use tf.train.Saver"
_WORKERS = "several workers are tasks of a tf.train.DaskCluster, with tf.train.replica_device_setter and Supervisor"
_MOVED = "its elements would belong to an eager iterator; use tf.data.make_initializable_iterator"
_PROFILE = "it reads TensorFlow's own statistics of steps; use tf.RunMetadata, tf.profile and tf.timeline.Timeline"
_BATCHING = "it gathers requests of a server; use tf.train.batch, or tf.data's batch"
_DEBUGGER = (
    "its debugger reads TensorFlow's own runtime; use tf.add_check_numerics_ops, tf.Print, or fetch the tensors by name"
)

PACKAGES: Mapping[str, str] = {
    "tpu": _TPU,
    "estimator.tpu.experimental": _TPU,
    "contrib.cloud": _CLOUD,
    "contrib.bigtable": _CLOUD,
    "contrib.kafka": _CLOUD,
    "contrib.kinesis": _CLOUD,
    "contrib.hadoop": _CLOUD,
    "contrib.ignite": _CLOUD,
    "contrib.rpc": "it calls services over gRPC; call them from tf.py_func",
    "contrib.eager": _EAGER,
    "autograph": _TRACING,
    "contrib.autograph": _TRACING,
    "lite": _PHONES,
    "contrib.lite": _PHONES,
    "contrib.remote_fused_graph": _PHONES,
    "contrib.checkpoint": _OBJECTS,
    "contrib.stat_summarizer": "it sums times of TensorFlow's own runtime; use tf.profile or tf.RunMetadata",
    "contrib.summary.create_db_writer": "it needs a library of a database; write event files by create_file_writer",
    "contrib.tensor_forest": _FOREST,
    "contrib.boosted_trees": _FOREST,
    "contrib.decision_trees": _FOREST,
    "python.debug": _DEBUGGER,
    "contrib.compiler.xla": _XLA,
    "contrib.tensorrt": _HARDWARE,
    "contrib.mixed_precision": _HARDWARE,
    "keras.mixed_precision": _HARDWARE,
    "contrib.ffmpeg": "it starts the program ffmpeg; decode the file with that, and read it with tf.audio.decode_wav",
    "contrib.labeled_tensor": _LABELS,
    "contrib.tfprof": _PROFILE,
}
_OF_A_TPU = """
AsyncCheckpointSaverHook DeviceAssignment InfeedQueue TPUDistributionStrategy Topology
batch_parallel bfloat16_scope core cross_replica_sum device_assignment export_estimator_savedmodel infeed_dequeue
infeed_dequeue_tuple infeed_enqueue infeed_enqueue_tuple initialize_system keras_to_tpu_model outfeed_dequeue
outfeed_dequeue_tuple outfeed_enqueue outfeed_enqueue_tuple outside_compilation repeat replicate rewrite shard
shutdown_system while_loop
"""
_RESOLVERS = """
ClusterResolver GCEClusterResolver GceClusterResolver KubernetesClusterResolver SimpleClusterResolver
SlurmClusterResolver TFConfigClusterResolver UnionClusterResolver UnionResolver
"""
NAMES: Mapping[str, str] = {
    **{f"contrib.tpu.{name}": _TPU for name in _OF_A_TPU.split()},
    "distribute.experimental.TPUStrategy": _TPU,
    "contrib.distribute.TPUStrategy": _TPU,
    "contrib.distribute.initialize_tpu_system": _TPU,
    "distribute.NcclAllReduce": _HARDWARE,
    **dict.fromkeys(
        (
            "contrib.distribute.CollectiveAllReduceStrategy",
            "contrib.distribute.MultiWorkerAllReduce",
            "contrib.distribute.ParameterServerStrategy",
            "contrib.distribute.run_standard_tensorflow_server",
            "distribute.experimental.CollectiveCommunication",
            "distribute.experimental.MultiWorkerMirroredStrategy",
            "distribute.experimental.ParameterServerStrategy",
        ),
        _WORKERS,
    ),
    **{
        f"{place}.cluster_resolver.{name}": _CLOUD for place in ("contrib", "distribute") for name in _RESOLVERS.split()
    },
    "xla.experimental.compile": _XLA,
    "GradientTape": "gradients are operations of the graph: dx = tf.gradients(y, x)[0], run by tf.Session",
    "function": "running Python once builds the graph: call f(x) itself, and run what it returns by tf.Session; "
    "conditions and loops on tensors are tf.cond and tf.while_loop",
    "wrap_function": _EAGER,
    "Module": _EAGER,
    "estimator.BoostedTreesClassifier": _FOREST,
    "estimator.BoostedTreesRegressor": _FOREST,
    "estimator.BoostedTreesEstimator": _FOREST,
    "contrib.estimator.boosted_trees_classifier_train_in_memory": _FOREST,
    "contrib.estimator.boosted_trees_regressor_train_in_memory": _FOREST,
    "train.experimental.enable_mixed_precision_graph_rewrite": _HARDWARE,
    "train.experimental.disable_mixed_precision_graph_rewrite": _HARDWARE,
    "train.experimental.MixedPrecisionLossScaleOptimizer": _HARDWARE,
    **dict.fromkeys(
        (
            "config.experimental.VirtualDeviceConfiguration",
            "config.experimental.get_device_policy",
            "config.experimental.get_memory_growth",
            "config.experimental.get_synchronous_execution",
            "config.experimental.get_virtual_device_configuration",
            "config.experimental.set_device_policy",
            "config.experimental.set_memory_growth",
            "config.experimental.set_synchronous_execution",
            "config.experimental.set_virtual_device_configuration",
            "config.experimental.set_visible_devices",
            "config.experimental_connect_to_cluster",
            "config.experimental_connect_to_host",
            "config.experimental_run_functions_eagerly",
            "config.get_soft_device_placement",
            "config.optimizer.get_experimental_options",
            "config.optimizer.get_jit",
            "config.optimizer.set_experimental_options",
            "config.optimizer.set_jit",
            "config.set_soft_device_placement",
            "config.threading.get_inter_op_parallelism_threads",
            "config.threading.get_intra_op_parallelism_threads",
            "config.threading.set_inter_op_parallelism_threads",
            "config.threading.set_intra_op_parallelism_threads",
            "debugging.get_log_device_placement",
            "debugging.set_log_device_placement",
            "experimental.function_executor_type",
            "experimental.output_all_intermediates",
        ),
        _CONTEXT,
    ),
    **dict.fromkeys(
        (
            "CXX11_ABI_FLAG",
            "MONOLITHIC_BUILD",
            "sysconfig.CXX11_ABI_FLAG",
            "sysconfig.MONOLITHIC_BUILD",
            "sysconfig.get_compile_flags",
            "sysconfig.get_include",
            "sysconfig.get_lib",
            "sysconfig.get_link_flags",
        ),
        _LIBRARY,
    ),
    **dict.fromkeys(("train.sdca_fprint", "train.sdca_optimizer", "train.sdca_shrink_l1"), _SDCA),
    **dict.fromkeys(("LMDBReader", "data.experimental.SqlDataset"), _DATABASE),
    **dict.fromkeys(
        (
            "data.experimental.StatsAggregator",
            "data.experimental.StatsOptions",
            "data.experimental.bytes_produced_stats",
            "data.experimental.latency_stats",
        ),
        _MEASURED,
    ),
    **dict.fromkeys(
        (
            "train.Checkpoint",
            "train.CheckpointManager",
            "train.experimental.PythonState",
            "saved_model.save",
            "saved_model.experimental.save",
            "saved_model.load_v2",
        ),
        _OBJECTS,
    ),
    **dict.fromkeys(("enable_tensor_equality", "enable_v2_tensorshape"), _TWO),
    **dict.fromkeys(
        (
            "train.experimental.LossScale",
            "train.experimental.FixedLossScale",
            "train.experimental.DynamicLossScale",
        ),
        _HARDWARE,
    ),
    **dict.fromkeys(
        (
            "profiler.AdviceProto",
            "profiler.GraphNodeProto",
            "profiler.MultiGraphNodeProto",
            "profiler.OpLogProto",
            "profiler.ProfileOptionBuilder",
            "profiler.Profiler",
            "profiler.advise",
            "profiler.profile",
            "profiler.write_op_log",
        ),
        _PROFILE,
    ),
    "errors.raise_exception_on_not_ok_status": _LIBRARY,
    "train.do_quantize_training_on_graphdef": _PHONES,
    "nondifferentiable_batch_function": _BATCHING,
    "compat.forward_compatibility_horizon": "operations have one form here, whatever the date",
    "keras.experimental.terminate_keras_multiprocessing_pools": "batches are fetched in threads, not in processes",
    "load_file_system_library": "it loads compiled code; register an operation of Python with tf.register_op",
}
_GRADIENTS = "gradients are operations of the graph: dx = tf.gradients(y, x)[0], then sess.run(dx)"
_ALWAYS_A_GRAPH = "every function builds a graph here; leave the call out"
_DEVICES = "tf.list_devices() lists the devices; tf.ConfigProto(device_count=...) says how many a session has"
_SUMMARIES = (
    "summaries are operations here: merged = tf.summary.merge_all(), writer = tf.summary.FileWriter(folder), "
    "writer.add_summary(sess.run(merged), step)"
)
_RAGGED = "rows of unequal length are a tf.SparseTensor, or padded by tf.data.Dataset.padded_batch"

# What people write who know TensorFlow 2, each with the line that does it in a graph; none is a name of TensorFlow 1.
LATER_NAMES: Mapping[str, str] = {
    "RaggedTensor": _RAGGED,
    "ragged": _RAGGED,
    "autodiff": _GRADIENTS,
    "activations": "activations are functions of tf.nn, as tf.nn.relu, or of tf.keras.activations",
    "config.list_physical_devices": _DEVICES,
    "config.list_logical_devices": _DEVICES,
    "config.get_visible_devices": _DEVICES,
    "config.set_visible_devices": _DEVICES,
    "config.run_functions_eagerly": _ALWAYS_A_GRAPH,
    "config.functions_run_eagerly": _ALWAYS_A_GRAPH,
    "config.experimental.enable_op_determinism": "results are the same in each run already; leave the call out",
    "data.AUTOTUNE": "in TensorFlow 1 it is tf.data.experimental.AUTOTUNE",
    "initializers.GlorotNormal": "use tf.glorot_normal_initializer()",
    "initializers.GlorotUniform": "use tf.glorot_uniform_initializer()",
    "initializers.HeNormal": "use tf.keras.initializers.he_normal()",
    "keras.utils.set_random_seed": "use tf.set_random_seed(seed), before the graph is built",
    "losses.BinaryCrossentropy": "use tf.losses.sigmoid_cross_entropy, or tf.keras.losses.BinaryCrossentropy",
    "losses.CategoricalCrossentropy": "use tf.losses.softmax_cross_entropy, or tf.keras.losses.CategoricalCrossentropy",
    "losses.MeanSquaredError": "use tf.losses.mean_squared_error, or tf.keras.losses.MeanSquaredError",
    "losses.SparseCategoricalCrossentropy": "use tf.losses.sparse_softmax_cross_entropy, or that of tf.keras.losses",
    "metrics.Accuracy": "use tf.metrics.accuracy, or tf.keras.metrics.Accuracy",
    "metrics.Mean": "use tf.metrics.mean, or tf.keras.metrics.Mean",
    "optimizers": "optimizers are in tf.train: tf.train.AdamOptimizer(rate).minimize(loss); for models of Keras in "
    "tf.keras.optimizers",
    "random.set_seed": "use tf.set_random_seed(seed), before the graph is built",
    "summary.create_file_writer": _SUMMARIES,
    "summary.record_if": _SUMMARIES,
    "summary.trace_on": "give the step tf.RunOptions and tf.RunMetadata, and show it by tf.timeline",
}
# Places that lack, and that no reason forbids.
_ABSENT: Mapping[str, str] = {
    "compat.v2": _TWO,
    "contrib.android": _PHONES,
    "contrib.batching": "use tf.train.batch, or tf.data's batch",
    "contrib.cudnn_rnn": "layers and cells are there, with the variables of checkpoints; there is no opaque vector",
    "contrib.gan": "models, losses and training are there; evaluation needs weights of a network that do not ship",
    "contrib.gdr": _CHANNELS,
    "contrib.mpi": _CHANNELS,
    "contrib.verbs": _CHANNELS,
    "python.debug": "tf.RunMetadata, tf.show_graph and tf.timeline show what a step did",
    "python.eager": _EAGER,
    "python.pywrap_tensorflow": "the functions of C++ are not there; tf.train.NewCheckpointReader reads checkpoints",
    "python.tools": "tf.graph_util has freezing and stripping; tf.train.list_variables lists checkpoints",
}
# Words in the names of raw operations that belong to a refused part.
_RAW_OPS: Mapping[str, str] = {
    "TPU": _TPU,
    "Infeed": _TPU,
    "Outfeed": _TPU,
    "BoostedTrees": _FOREST,
    "Cudnn": _HARDWARE,
    "Nccl": _HARDWARE,
    "Collective": _HARDWARE,
    **dict.fromkeys(("QuantizedConv2DAnd", "QuantizedConv2DWith", "QuantizedConv2DPerChannel"), _HARDWARE),
    **dict.fromkeys(("QuantizedDepthwiseConv2D", "QuantizedMatMulWithBias"), _HARDWARE),
    "SummaryWriter": _EAGER,
    "SummaryDbWriter": _EAGER,
    "SummaryFileWriter": _EAGER,
    "EagerPyFunc": _EAGER,
    "ImportEvent": _EAGER,
    "CrossReplicaSum": _TPU,
    "AllToAll": _TPU,
    "Prelinearize": _TPU,
    "WorkerHeartbeat": _TPU,
    "RemoteCall": "it runs a function at a device named by a tensor; place the operations by tf.device",
    "Sdca": _SDCA,
    "LMDB": _DATABASE,
    "SqlDataset": _DATABASE,
    "StatsAggregator": _MEASURED,
    "StatsDataset": _MEASURED,
    "ChooseFastest": _MEASURED,
    "AssertNextDataset": _MEASURED,
    "OptimizeDataset": _MEASURED,
    "ModelDataset": _MEASURED,
    "ThreadPool": _MEASURED,
    "MaxIntraOpParallelism": _MEASURED,
    "NonSerializableDataset": _MEASURED,
    "SnapshotDataset": _MEASURED,
    "AutoShardDataset": "data sets are not divided over replicas by themselves; use tf.data.Dataset.shard",
    "RebatchDataset": "data sets are not divided over replicas by themselves; use tf.data.Dataset.shard",
    "MultiDeviceIterator": "one iterator feeds all devices; call its get_next under tf.device",
    "MemoryCache": "a cache belongs to its iterator; use tf.data.Dataset.cache",
    "SeedGenerator": "seeds are attributes; use tf.data.Dataset.shuffle",
    "BatchFunction": _BATCHING,
    "UnbatchGrad": _BATCHING,
}
_WRITERS = "WriteAudioSummary WriteGraphSummary WriteHistogramSummary WriteImageSummary WriteRawProtoSummary"
_RAW_NAMES: Mapping[str, str] = {
    **dict.fromkeys((*_WRITERS.split(), "WriteScalarSummary", "WriteSummary"), _EAGER),
    **dict.fromkeys(("Batch", "Unbatch"), _BATCHING),
    **dict.fromkeys(("AnonymousIterator", "AnonymousIteratorV2", "DeleteIterator"), _MOVED),
    **dict.fromkeys(("IteratorGetDevice", "ExperimentalIteratorGetDevice", "MapDefun"), _MEASURED),
    **dict.fromkeys(("RequantizationRangePerChannel", "RequantizePerChannel"), _HARDWARE),
    "CacheDatasetV2": "a cache belongs to its iterator; use tf.data.Dataset.cache",
    "ShuffleDatasetV2": "seeds are attributes; use tf.data.Dataset.shuffle",
    "Abort": "it ends the process; let tf.debugging.Assert end the step",
}


def reason_for(place: str) -> str | None:
    """Returns the reason why the dotted name `place` below `tf` is refused, or None when it is not."""
    parts = place.split(".")
    if parts[0] == "raw_ops":
        exact = _RAW_NAMES.get(place.partition(".")[2])
        return exact or next((reason for word, reason in _RAW_OPS.items() if word in place), None)
    return NAMES.get(place) or _of_package(PACKAGES, parts)


def advice(place: str) -> str:
    """Returns what to use instead of the name `place` ("contrib.gan.eval"), refused or absent; "" if unknown."""
    return reason_for(place) or LATER_NAMES.get(place) or _of_package(_ABSENT, place.split(".")) or ""


def _of_package(table: Mapping[str, str], parts: Sequence[str]) -> str | None:
    """Returns the reason of the innermost package of the dotted name of these `parts` that `table` has."""
    places = (table.get(".".join(parts[:n])) for n in range(len(parts), 0, -1))
    return next((reason for reason in places if reason), None)
