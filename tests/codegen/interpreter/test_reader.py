"""Texts of kernels as code of the interpreter: which are translated, and that any other text is refused.

That the code computes the bits of the text is tested with whole programs, in `tests/devices/test_interpreted.py`.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from tfnb.codegen.interpreter.instructions import INSTRUCTIONS, LENGTH, MOST_NUMBERS, MOST_POINTERS
from tfnb.codegen.interpreter.reader import code_of, is_interpretable

GOLDEN = Path(__file__).parents[1] / "golden"
# Those that have doubles, 16-bit floats or long indices, or multiply or transpose matrices.
REFUSED = {"double", "half", "argmax", "product_update", "transpose"}

HEAD = "KERNEL_NAME(\n    __global const float *in_1, __global float *out_1, int n0, float x0)\n"


def text_with(*statements: str) -> str:
    return HEAD + "{\n" + "\n".join(statements) + "\n}"


def entries(source: str) -> list[str]:
    return re.findall(r"__kernel void (\w+)\(", source)


def kernels(name: str) -> dict[str, np.ndarray | None]:
    source = (GOLDEN / f"{name}.cl").read_text()
    return {entry: code_of(source, entry) for entry in entries(source) if f" part_{entry}(" in source}


@pytest.mark.parametrize("name", sorted(p.stem for p in GOLDEN.glob("*.cl")))
def test_typical_kernels_are_translated(name: str) -> None:
    codes = kernels(name)
    assert codes
    assert any(code is None for code in codes.values()) == (name in REFUSED), codes.keys()


def instructions(code: np.ndarray) -> list[str]:
    """The names of the instructions of a code, of which each has all its operands."""
    names = {i.number: name for name, i in INSTRUCTIONS.items()}
    rest = code[1 + int(code[0]) :].reshape(-1, LENGTH)
    return [names[int(number)] for number in rest[:, 0]]


def test_what_a_text_becomes() -> None:
    source = f"static PART void part_k(\n    int item, int items,{text_with('out_1[n0] = in_1[0] * x0;')[12:]}\n\n"
    code = code_of(source, "k")
    assert code is not None
    assert instructions(code) == ["load.f", "*.f", "store.f", "stop"]
    assert code_of(source, "other") is None


@pytest.mark.parametrize(
    "statement",
    [
        "double y = 0.0;",
        "double16 y = (double16)(0.0);",
        "long i = 3L;",
        "out_1[0] = 1.0;",  # a double
        "out_1[0] = unknown(x0);",
        "out_1[0] = y_1;",
        "barrier(CLK_LOCAL_MEM_FENCE);",
        "__local float memory[16];",
        "float *p = &out_1;",
        "float16 y = vload16(0, in_1);",
        "out_1[0] = LOAD(float, 16, in_1);",  # a vector as an element
        "put(out_1, x0, 16);",
        "put(in_2, (float16)(x0), 16);",
        "STORE(int, 16, (int16)(n0), out_1);",
        "if (x0) out_1[0] = x0;",  # a float as a condition
        "while (n0) out_1[0] = x0;",
        "for (long i = 0; i < n0; ++i) out_1[i] = x0;",
        "for (int i = 0; i > n0; ++i) out_1[i] = x0;",
        "for (int i = 0; i < n0; i += n0 * 2) out_1[i] = x0;",
        "n0 = 1;",
        "float16 y = (float16)(x0); int16 z = (int16)(n0); across_argmax(y, z, &best, &at);",
        "RANGE(int, i, n0, n0 + 1) { out_1[i] = x0; }",
        "float16 y = (float16)(1.0f) + (int16)(n0);",
        "uint y = (uint)x0;",
        "out_1[x0] = x0;",
        "out_1[0] = x0",
        "out_1[0] = 1Uf;",
        "out_1[0] = 1UL;",
        "out_1[0] = -",
        "out_1[0] = (x0;",
        "out_1[0] = x0; }",
        "@",
    ],
)
def test_other_texts_are_refused(statement: str) -> None:
    assert is_interpretable(text_with("out_1[0] = x0;"))
    assert not is_interpretable(text_with(statement))


def test_too_much_is_refused() -> None:
    names = [f"float16 y_{k} = LOAD(float, 16, in_1 + {k});" for k in range(100)]
    uses = [f"put(out_1 + {k}, y_{k}, 16);" for k in range(100)]
    assert is_interpretable(text_with(*[s for pair in zip(names, uses, strict=True) for s in pair][:40]))
    assert not is_interpretable(text_with(*names, *uses))
    for declaration, most in (("__global float *p", MOST_POINTERS), ("int n", MOST_NUMBERS)):
        for n in (most, most + 1):
            head = f"KERNEL_NAME({', '.join(f'{declaration}{k}' for k in range(n))})"
            assert is_interpretable(head + "\n{\n    return;\n}") == (n == most)


def test_damaged_texts_are_translated_or_refused() -> None:
    """Texts with words left out, doubled and exchanged; none of them ends the translation in another way."""
    rng = random.Random(0)
    texts = [p.read_text() for p in GOLDEN.glob("*.cl")]
    parts = [part for text in texts for part in re.findall(r"part_\w+(\([^{]*\{.*?\n\})", text, re.DOTALL)]
    refused = 0
    for _ in range(600):
        words = re.findall(r"\w+|\s+|[^\w\s]", rng.choice(parts))
        for _ in range(rng.randint(1, 3)):
            k, other = rng.randrange(len(words)), rng.randrange(len(words))
            words[k : k + 1] = rng.choice(([], [words[k]] * 2, [words[other]], ["-"], ["1"]))
        refused += not is_interpretable("KERNEL_NAME" + "".join(words))
    assert refused > 100
