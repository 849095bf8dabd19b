"""The protobuf messages that users name: `tf.GraphDef`, `tf.NodeDef`, `tf.AttrValue`, `tf.MetaGraphDef` and their like.

`tfnb/__init__.py` loads this module when one of them is first used. Invariant: they are the classes that the codec
uses.
"""

from __future__ import annotations

from tfnb.ir.protos import proto
from tfnb.ir.server_def import server_def_class

__all__ = [
    "AttrValue",
    "ClusterDef",
    "CollectionDef",
    "FunctionDef",
    "FunctionDefLibrary",
    "GraphDef",
    "JobDef",
    "MetaGraphDef",
    "NameAttrList",
    "NodeDef",
    "OpList",
    "SaverDef",
    "ServerDef",
    "SignatureDef",
    "TensorProto",
    "TensorInfo",
    "TensorShapeProto",
    "VariableDef",
]

GraphDef = proto("graph").GraphDef
NodeDef = proto("node_def").NodeDef
AttrValue = proto("attr_value").AttrValue
NameAttrList = proto("attr_value").NameAttrList
TensorProto = proto("tensor").TensorProto
TensorShapeProto = proto("tensor_shape").TensorShapeProto
FunctionDef = proto("function").FunctionDef
FunctionDefLibrary = proto("function").FunctionDefLibrary
OpList = proto("op_def").OpList
VariableDef = proto("variable").VariableDef
SaverDef = proto("saver").SaverDef
MetaGraphDef = proto("meta_graph").MetaGraphDef
CollectionDef = proto("meta_graph").CollectionDef
TensorInfo = proto("meta_graph").TensorInfo
ClusterDef = proto("cluster").ClusterDef
JobDef = proto("cluster").JobDef
SignatureDef = proto("meta_graph").SignatureDef
ServerDef = server_def_class()
