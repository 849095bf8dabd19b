"""Lists the operations of a TensorFlow: `python scripts/registered_ops.py tests/data/ops_1_15.json`.

It runs under the Python of TensorFlow 1.15.5, so it has the syntax of Python 3.7. The file holds the type
attributes of each operation, each with two texts: the dtypes that the operation allows, and those for which a kernel
for CPUs is registered. Equal texts are stored once.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from typing import Any


def registered() -> dict[str, dict[str, tuple[str, str]]]:
    """Returns {operation: {attribute: (allowed dtypes, dtypes with a kernel)}}."""
    from tensorflow.core.framework import kernel_def_pb2, op_def_pb2, types_pb2
    from tensorflow.python import pywrap_tensorflow as core
    from tensorflow.python.framework import dtypes

    ops, kernels = op_def_pb2.OpList(), kernel_def_pb2.KernelList()
    ops.ParseFromString(core.TF_GetBuffer(core.TF_GetAllOpList()))
    kernels.ParseFromString(core.TF_GetBuffer(core.TF_GetAllRegisteredKernels()))
    every = sorted(n for n, i in types_pb2.DataType.items() if 0 < i < 100)
    names = {n: dtypes.as_dtype(types_pb2.DataType.Value(n)).name for n in every}
    constraints: Any = defaultdict(list)
    for kernel in kernels.kernel:
        if kernel.device_type in ("CPU", "DEFAULT"):
            constraints[kernel.op].append({c.name: set(c.allowed_values.list.type) for c in kernel.constraint})
    found: dict[str, Any] = {}
    for op in ops.op:
        types: dict[str, Any] = {}
        found[op.name] = types
        for attr in op.attr:
            if attr.type not in ("type", "list(type)"):
                continue
            allowed = set(attr.allowed_values.list.type) or {types_pb2.DataType.Value(n) for n in every}
            kinds = [c.get(attr.name, allowed) for c in constraints[op.name]]
            served: set[int] = set().union(*kinds) & allowed
            texts = [
                " ".join(n for n in map(names.get, every) if dtypes.as_dtype(n).as_datatype_enum in s)
                for s in (allowed, served)
            ]
            types[attr.name] = tuple(texts)
    return found


def main(path: str) -> None:
    """Writes the file."""
    warnings.simplefilter("ignore")
    import tensorflow  # registers the operations

    found = registered()
    texts = sorted({t for types in found.values() for pair in types.values() for t in pair})
    places = {t: i for i, t in enumerate(texts)}
    rows = {op: {a: [places[t] for t in pair] for a, pair in types.items()} for op, types in sorted(found.items())}
    with open(path, "w") as file:
        head = json.dumps({"version": tensorflow.__version__, "dtypes": texts}, indent=0)[:-2]
        body = ",\n".join(f"{json.dumps(op)}: {json.dumps(types)}" for op, types in rows.items())
        file.write(f'{head},\n"ops": {{\n{body}\n}}}}\n')


if __name__ == "__main__":
    main(sys.argv[1])
