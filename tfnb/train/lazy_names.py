"""The public names of the training library whose modules load when a program uses one of them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
distribute : tfnb.train.distribute.contexts : ReplicaContext get_loss_reduction get_replica_context
distribute : tfnb.train.distribute.contexts : experimental_set_strategy get_strategy has_strategy
distribute : tfnb.train.distribute.contexts : in_cross_replica_context
distribute : tfnb.train.distribute.inputs : InputContext InputReplicationMode
distribute : tfnb.train.distribute.reduction : CrossDeviceOps
distribute : tfnb.train.distribute.reduction : HierarchicalCopyAllReduce ReduceOp ReductionToOneDevice
distribute : tfnb.train.distribute.strategies : Strategy StrategyExtended
distribute : tfnb.train.distribute.mirrored : MirroredStrategy OneDeviceStrategy
distribute.experimental : tfnb.train.distribute.mirrored : CentralStorageStrategy
train : tfnb.session.dask : DaskCluster Server
tf : tfnb.session.default : get_default_session
tf : tfnb.session.api : Session InteractiveSession ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions
tf : tfnb.session.api : RunMetadata list_devices profile
tf : tfnb.summary : Summary SummaryMetadata HistogramProto Event SessionLog LogMessage
tf : tfnb.ir.messages : GraphDef NodeDef AttrValue NameAttrList MetaGraphDef TensorProto
config.experimental : tfnb.session.device_lists : get_visible_devices=list_physical_devices list_logical_devices
config.experimental : tfnb.session.device_lists : list_physical_devices
config : tfnb.session.device_lists : experimental_list_devices
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
