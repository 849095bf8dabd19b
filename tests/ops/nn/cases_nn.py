"""Cases of activations, softmax, cross entropies, bias, local response normalisation."""

from __future__ import annotations

import numpy as np
from cases import SPECIAL, Case, arr, ints

_SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (7,), (), (0, 3), (2, 3, 1, 5), (1, 33))
_UNARY = ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu")
_GRADS = (
    "ReluGrad",
    "Relu6Grad",
    "EluGrad",
    "SeluGrad",
    "SoftplusGrad",
    "SoftsignGrad",
    "LeakyReluGrad",
)


def _away_from_kinks(*shape: int) -> np.ndarray:
    """Numbers in (-2.5, 8) at least 0.05 away from 0 and 6, where slopes jump."""
    x = arr(*shape, lo=-2.5, hi=8.0)
    for kink in (0.0, 6.0):
        x = np.where(np.abs(x - kink) < 0.05, kink + 0.1, x)
    return np.asarray(x, np.float32)


def _probabilities(*shape: int) -> np.ndarray:
    x = arr(*shape, lo=0.1, hi=1.0)
    return np.asarray(x / x.sum(-1, keepdims=True), np.float32)


_ACTIVATIONS = (
    *(Case(op, (_away_from_kinks(*s),)) for op in _UNARY for s in _SHAPES),
    *(Case(op, (arr(*s), _away_from_kinks(*s))) for op in _GRADS for s in _SHAPES[:4]),
    *(Case(op, (SPECIAL,), note="special", grad=False) for op in ("Elu", "Softplus", "Softsign", "LeakyRelu")),
    # at -1e-30 TensorFlow's exp(x) - 1 is 0, and its slope the other side's
    Case("Selu", (SPECIAL[:-1],), note="special", grad=False),
    *(Case(op, (SPECIAL[1:],), note="special", grad=False) for op in ("Relu", "Relu6")),
    *(Case(op, (ints(3, 4),)) for op in ("Relu", "Relu6")),
    Case("LeakyRelu", (_away_from_kinks(3, 4),), {"alpha": 0.5}),
    Case("LeakyReluGrad", (arr(3, 4), _away_from_kinks(3, 4)), {"alpha": 0.5}),
)

_LOGITS = (
    arr(3, 4),
    arr(1, 1),
    arr(5),
    arr(2, 3, 4),
    arr(0, 3),
    arr(40, 10, lo=-30, hi=30),
    arr(3, 4) + np.float32(1e4),
)

_SOFTMAX = (
    *(Case(op, (x,)) for op in ("Softmax", "LogSoftmax") for x in _LOGITS[:5]),
    *(Case(op, (x,), note="wide", grad=False) for op in ("Softmax", "LogSoftmax") for x in _LOGITS[5:]),
    # The gradient holds for labels that sum to 1, and TensorFlow leaves out what goes through backprop to the labels:
    # see tests/client/losses_metrics/test_losses.py and tests/oracle/ops/test_nn.py.
    *(
        Case("SoftmaxCrossEntropyWithLogits", (x, p), grad=False, oracle=False)
        for x, p in (
            *((arr(n, k, lo=-5, hi=5), _probabilities(n, k)) for n, k in ((3, 4), (1, 1), (17, 10), (0, 3))),
            (arr(3, 4, lo=50, hi=90), np.eye(3, 4, dtype=np.float32)),
        )
    ),
    *(
        Case("SparseSoftmaxCrossEntropyWithLogits", (arr(n, k), ints(n, lo=0, hi=k, dtype=t)))
        for n, k, t in ((3, 4, np.int32), (1, 1, np.int64), (17, 10, np.int64), (0, 3, np.int32))
    ),
    *(Case("LabelTerm", (arr(3, 4), np.array(v, np.int32)), oracle=False) for v in ([0, 3, 1], [2, 2, 2])),
)

_BIAS = (
    *(Case("BiasAdd", (arr(*s), arr(s[-1]))) for s in ((3, 4), (2, 3, 4), (2, 3, 4, 5), (0, 3), (1, 1), (33, 7))),
    Case("BiasAdd", (arr(2, 3, 4, 5), arr(3)), {"data_format": "NCHW"}, oracle=False),
    Case("BiasAdd", (ints(2, 3), ints(3))),
    *(Case("BiasAddGrad", (arr(*s),)) for s in ((3, 4), (2, 3, 4, 5), (0, 3), (65, 9))),
    Case("BiasAddGrad", (arr(2, 3, 4, 5),), {"data_format": "NCHW"}, oracle=False),
)

_LRN_ATTRS = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.7}
_LRN = (
    *(
        Case("LRN", (arr(*s),), attrs, oracle=False)
        for s, attrs in (
            ((2, 3, 2, 6), _LRN_ATTRS),
            ((1, 2, 2, 1), {}),
            ((1, 1, 2, 3), {"depth_radius": 5}),
            ((0, 2, 2, 3), {}),
        )
    ),
    Case("LRNGrad", (arr(1, 2, 2, 4), arr(1, 2, 2, 4), arr(1, 2, 2, 4)), _LRN_ATTRS, oracle=False),
    Case("LRN", (arr(1, 2, 2, 4),), {"bias": 2.0, "alpha": 0.5, "beta": 0.75}, oracle=False),
    *(
        Case("WindowSum", (arr(*s),), {"radius": r}, oracle=False)
        for s, r in (((2, 5), 1), ((3,), 4), ((2, 2, 7), 2), ((3, 37), 5))
    ),
)

_PYTHON = (
    Case(
        "PyFuncStateless",
        ([arr(3, 4)],),
        {"Tout": ["float32"], "function": np.negative},
        float32_only=True,
        oracle=False,
        grad=False,
    ),
)

_NO = np.zeros(0, np.float32)


def _batch_norm(*shape: int, moments: bool = False, **attrs: object) -> Case:
    n = shape[1] if attrs.get("data_format") == "NCHW" else shape[3]
    own = (arr(n), arr(n, lo=0.5, hi=2.0)) if moments else (_NO, _NO)
    inputs = (arr(*shape), arr(n, lo=0.5, hi=2.0), arr(n), *own)
    # TensorFlow's gradient leaves out what goes through the moments in the outputs
    return Case("FusedBatchNorm", inputs, attrs, oracle=False, rtol=5e-5, atol=5e-5)


_NORM = (
    _batch_norm(2, 3, 4, 3),
    _batch_norm(2, 3, 2, 3, epsilon=0.1),
    _batch_norm(2, 3, 2, 3, data_format="NCHW"),
    _batch_norm(2, 3, 2, 3, is_training=False, moments=True),
    _batch_norm(2, 3, 2, 3, is_training=False, data_format="NCHW", moments=True),
)


def _batch_norm_grad(op: str, *shape: int, **attrs: object) -> Case:
    n = shape[1] if attrs.get("data_format") == "NCHW" else shape[3]
    inputs = (arr(*shape), arr(*shape), arr(n, lo=0.5, hi=2.0), arr(n), arr(n, lo=0.5, hi=2.0))
    inputs = (*inputs, np.zeros((), np.float32)) if op.endswith("V3") else inputs
    # for values see tests/oracle/ops/test_batch_norm.py: TensorFlow's derivatives go through the moments at once
    narrow = op.endswith(("V2", "V3"))
    return Case(op, inputs, attrs, oracle=False, float32_only=narrow, rtol=5e-5, atol=5e-5)


_GLOBAL = (arr(2, 3, 2, 3), arr(3), arr(3, lo=0.5, hi=2.0), arr(3), arr(3))
_NORM_OPS = (
    Case(
        "FusedBatchNormV2",
        (arr(2, 3, 4, 3), arr(3, lo=0.5, hi=2.0), arr(3), _NO, _NO),
        oracle=False,
        float32_only=True,
        atol=2e-5,
    ),
    Case(
        "FusedBatchNormV3",
        (arr(2, 3, 4, 3), arr(3, lo=0.5, hi=2.0), arr(3), arr(3), arr(3)),
        {"exponential_avg_factor": 0.25},
        float32_only=True,
        atol=2e-5,
        oracle=False,
    ),
    Case(
        "FusedBatchNormV2",
        (arr(1, 3, 4, 3, dtype=np.float16), arr(3, lo=0.5, hi=2.0), arr(3), _NO, _NO),
        oracle=False,
        float32_only=True,
        rtol=2e-3,
        atol=2e-3,
    ),
    _batch_norm_grad("FusedBatchNormGrad", 2, 3, 2, 3),
    _batch_norm_grad("FusedBatchNormGrad", 2, 3, 2, 3, data_format="NCHW"),
    _batch_norm_grad("FusedBatchNormGrad", 2, 3, 2, 3, is_training=False),
    _batch_norm_grad("FusedBatchNormGradV2", 2, 3, 2, 3),
    _batch_norm_grad("FusedBatchNormGradV3", 2, 3, 2, 3, is_training=False),
    Case(
        "BatchNormWithGlobalNormalization",
        _GLOBAL,
        {"variance_epsilon": 0.01, "scale_after_normalization": True},
        oracle=False,
        atol=2e-5,
    ),
    Case(
        "BatchNormWithGlobalNormalization",
        _GLOBAL,
        {"variance_epsilon": 0.01, "scale_after_normalization": False},
        oracle=False,
        atol=2e-5,
    ),
)

_TRUE = np.array([[0, 2], [3, 2], [1, 4]], np.int64)
_SAMPLERS = (
    *(
        Case(op, (_TRUE,), attrs, oracle=False, device=False, grad=False)
        for op in ("LogUniformCandidateSampler", "UniformCandidateSampler")
        for attrs in (
            {"num_true": 2, "num_sampled": 4, "unique": True, "range_max": 5, "seed": 1},
            {"num_true": 2, "num_sampled": 9, "unique": False, "range_max": 7, "seed": 1},
        )
    ),
    Case(
        "FixedUnigramCandidateSampler",
        (_TRUE,),
        {
            "num_true": 2,
            "num_sampled": 3,
            "range_max": 5,
            "unigrams": (1.0, 5.0, 2.0, 3.0, 4.0),
            "seed": 1,
        },
        oracle=False,
        device=False,
        grad=False,
    ),
    *(
        Case(
            op,
            (_TRUE,),
            {"num_true": 2, "num_sampled": 4, "unique": True, "range_max": 5, "seed": 1},
            oracle=False,
            device=False,
            grad=False,
        )
        for op in ("LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler")
    ),
    Case(
        "AllCandidateSampler",
        (_TRUE,),
        {"num_true": 2, "num_sampled": 6, "unique": True},
        device=False,
        grad=False,
    ),
    Case("ComputeAccidentalHits", (_TRUE, np.array([2, 7, 5, 4], np.int64)), {"num_true": 2}),
)

_FORMS = (
    Case("BiasAddV1", (arr(2, 3, 4), arr(4)), oracle=False),
    *(
        Case(
            "BatchNormWithGlobalNormalizationGrad",
            (arr(2, 3, 2, 3), arr(3), arr(3, lo=0.5, hi=2.0), arr(3), arr(2, 3, 2, 3)),
            {"variance_epsilon": 0.01, "scale_after_normalization": scaled},
            oracle=False,
            atol=2e-5,
        )
        for scaled in (True, False)
    ),
)

_TREE = (
    Case(
        "GatherTree",
        (
            np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]], np.int32),
            np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], np.int32),
            np.array([3], np.int32),
            np.int32(10),
        ),
        oracle=False,
    ),
)

CASES: tuple[Case, ...] = (
    *_TREE,
    *_ACTIVATIONS,
    *_SOFTMAX,
    *_BIAS,
    *_LRN,
    *_PYTHON,
    *_NORM,
    *_NORM_OPS,
    *_SAMPLERS,
    *_FORMS,
)
