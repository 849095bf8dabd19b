"""Signatures of models: the tensors that are the inputs and outputs of a computation, with names for its users.

Invariant: a signature consists of tensor names, dtypes and shapes, so it can be read without the program that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.message_types import SignatureDef, TensorInfo
from tfnb.ir.protos import proto
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import as_dtype, float32, string

__all__ = [
    "API",
    "SIGNATURE_CONSTANTS",
    "TAG_CONSTANTS",
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "build_signature_def",
    "build_tensor_info",
    "predict_signature_def",
]

SIGNATURE_CONSTANTS = {
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY": "serving_default",
    "CLASSIFY_INPUTS": "inputs",
    "CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
    "CLASSIFY_OUTPUT_CLASSES": "classes",
    "CLASSIFY_OUTPUT_SCORES": "scores",
    "PREDICT_INPUTS": "inputs",
    "PREDICT_METHOD_NAME": "tensorflow/serving/predict",
    "PREDICT_OUTPUTS": "outputs",
    "REGRESS_INPUTS": "inputs",
    "REGRESS_METHOD_NAME": "tensorflow/serving/regress",
    "REGRESS_OUTPUTS": "outputs",
}
TAG_CONSTANTS = {"SERVING": "serve", "TRAINING": "train", "EVAL": "eval", "GPU": "gpu", "TPU": "tpu"}


def build_tensor_info(tensor: TensorLike | SparseTensor) -> Any:
    """Returns the TensorInfo message of a tensor, sparse tensor or variable: its name or names, dtype and shape."""
    if isinstance(tensor, SparseTensor):
        info = proto("meta_graph").TensorInfo(dtype=tensor.dtype.enum, tensor_shape=tensor.get_shape().as_proto())
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
        return info
    converted: Tensor = tensor if isinstance(tensor, Tensor) else get_default_graph().to_tensor(tensor)
    shape = proto("tensor_shape").TensorShapeProto(unknown_rank=converted.shape.ndims is None)
    for d in () if converted.shape.ndims is None else converted.shape.as_list():
        shape.dim.add(size=-1 if d is None else d)
    return proto("meta_graph").TensorInfo(name=converted.name, dtype=converted.dtype.enum, tensor_shape=shape)


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: GraphBuilder | None = None, import_scope: str | None = None
) -> Any:
    """Returns the tensor that a TensorInfo names, in `graph` (by default the default graph) below `import_scope`.

    Raises `InvalidArgumentError` for a TensorInfo without a name, and `NotFoundError` for an unknown name.
    """
    encoding = tensor_info.WhichOneof("encoding")
    if encoding not in ("name", "coo_sparse"):
        raise InvalidArgumentError(f"Invalid TensorInfo.encoding: {encoding}; needed a name, or names of coo_sparse")

    def named(name: str) -> Any:
        full = f"{import_scope}/{name}" if import_scope else name
        return (graph or get_default_graph()).get_tensor_by_name(full)

    if encoding == "name":
        return named(tensor_info.name)
    parts = tensor_info.coo_sparse
    names = (parts.indices_tensor_name, parts.values_tensor_name, parts.dense_shape_tensor_name)
    return SparseTensor(*map(named, names))


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """Returns a SignatureDef with the TensorInfos of the inputs and outputs by name, and the name of the method."""
    signature = proto("meta_graph").SignatureDef(method_name=method_name or "")
    for field, infos in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, info in (infos or {}).items():
            field[name].CopyFrom(info)
    return signature


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Returns the signature of a prediction, from dicts of input and output tensors.

    Raises `InvalidArgumentError` when one of them is empty.
    """
    if not inputs or not outputs:
        raise InvalidArgumentError("predict_signature_def needs inputs and outputs")
    ins, outs = ({k: build_tensor_info(t) for k, t in g.items()} for g in (inputs, outputs))
    return build_signature_def(ins, outs, SIGNATURE_CONSTANTS["PREDICT_METHOD_NAME"])


def classification_signature_def(
    examples: TensorLike | SparseTensor | None, classes: Tensor | None, scores: Tensor | None
) -> Any:
    """Returns the signature of a classification of strings (serialized tf.Examples).

    The outputs are classes (strings), scores (float32), or both. Raises `InvalidArgumentError` for other dtypes.
    """
    outputs = {k: t for k, t in (("classes", classes), ("scores", scores)) if t is not None}
    if examples is None or not outputs:
        raise InvalidArgumentError("classification_signature_def needs examples, and classes or scores")
    if build_tensor_info(examples).dtype != string.enum:
        raise InvalidArgumentError("classification_signature_def: the examples must be strings")
    infos = {k: build_tensor_info(t) for k, t in outputs.items()}
    method = SIGNATURE_CONSTANTS["CLASSIFY_METHOD_NAME"]
    return build_signature_def({"inputs": build_tensor_info(examples)}, infos, method)


def regression_signature_def(examples: TensorLike | SparseTensor | None, predictions: TensorLike) -> Any:
    """Returns the signature of a regression from strings (serialized tf.Examples) to float32 predictions."""
    if examples is None or predictions is None:
        raise InvalidArgumentError("regression_signature_def needs examples and predictions")
    infos = [build_tensor_info(examples), build_tensor_info(predictions)]
    for role, info, dtype_name in (("examples", infos[0], "string"), ("predictions", infos[1], "float32")):
        if info.dtype != as_dtype(dtype_name).enum:
            raise InvalidArgumentError(f"regression_signature_def: the {role} must be {dtype_name}")
    method = SIGNATURE_CONSTANTS["REGRESS_METHOD_NAME"]
    return build_signature_def({"inputs": infos[0]}, {"outputs": infos[1]}, method)


class ExportOutput:
    """An output of an exported model (`tf.estimator.export`), which becomes one signature."""

    def signature(self, receivers: Mapping[str, Any]) -> Any:
        """Returns the SignatureDef from the tensors that an exported model receives to this output."""
        raise TypeError(f"{type(self).__name__} must define signature")


class PredictOutput(ExportOutput):
    """An output of any tensors: a dict of them by name, or one tensor, which is then called "output"."""

    def __init__(self, outputs: Mapping[str, Tensor] | TensorLike) -> None:
        self.outputs = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}

    def signature(self, receivers: Mapping[str, Any]) -> Any:
        """Returns the signature of a prediction from the received tensors."""
        return predict_signature_def(receivers, self.outputs)


class ClassificationOutput(ExportOutput):
    """Classes (strings), scores (float32), or both; the model must receive one tensor of tf.Example strings."""

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is None and classes is None:
            raise InvalidArgumentError("ClassificationOutput needs scores or classes")
        self.scores, self.classes = scores, classes

    def signature(self, receivers: Mapping[str, Any]) -> Any:
        """Returns the signature of a classification of the received tensor. Raises `InvalidArgumentError` for other
        inputs.
        """
        return classification_signature_def(_only(receivers), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Float32 numbers; the model must receive one tensor of tf.Example strings."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def signature(self, receivers: Mapping[str, Any]) -> Any:
        """Returns the signature of a regression from the received tensor. Raises `InvalidArgumentError` for other
        inputs.
        """
        return regression_signature_def(_only(receivers), self.value)


def _only(receivers: Mapping[str, Any]) -> Any:
    if len(receivers) != 1:
        raise InvalidArgumentError(
            f"a signature for tf.Example strings needs one tensor that the model receives, got {sorted(receivers)}"
        )
    return next(iter(receivers.values()))


def is_valid_signature(signature_def: SignatureDef) -> bool:
    """Returns whether the `signature_def` has a method and the inputs and outputs that serving it needs."""
    methods = {v: k for k, v in SIGNATURE_CONSTANTS.items() if k.endswith("METHOD_NAME")}
    kind = methods.get(signature_def.method_name)
    if kind is None:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    if kind == "PREDICT_METHOD_NAME":
        return bool(inputs) and bool(outputs)
    if set(inputs) != {"inputs"} or inputs["inputs"].dtype != string.enum:
        return False
    if kind == "REGRESS_METHOD_NAME":
        return set(outputs) == {"outputs"} and outputs["outputs"].dtype == float32.enum
    allowed = {"classes": string.enum, "scores": float32.enum}
    return bool(outputs) and all(allowed.get(name) == info.dtype for name, info in outputs.items())


API: dict[str, Any] = {
    "saved_model.is_valid_signature": is_valid_signature,
    "saved_model.signature_def_utils.is_valid_signature": is_valid_signature,
    "saved_model.utils.build_tensor_info": build_tensor_info,
    "saved_model.build_tensor_info": build_tensor_info,
    "saved_model.utils.get_tensor_from_tensor_info": get_tensor_from_tensor_info,
    "saved_model.get_tensor_from_tensor_info": get_tensor_from_tensor_info,
    **{
        f"saved_model.{where}{f.__name__}": f
        for where in ("", "signature_def_utils.")
        for f in (
            build_signature_def,
            predict_signature_def,
            classification_signature_def,
            regression_signature_def,
        )
    },
    **{f"saved_model.signature_constants.{k}": v for k, v in SIGNATURE_CONSTANTS.items()},
    **{f"saved_model.{k}": v for k, v in SIGNATURE_CONSTANTS.items()},
    **{f"saved_model.tag_constants.{k}": v for k, v in TAG_CONSTANTS.items()},
    **{f"saved_model.{k}": v for k, v in TAG_CONSTANTS.items()},
}
