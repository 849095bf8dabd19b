"""Trees of statements become the OpenCL C that one would write by hand."""

from __future__ import annotations

import pytest

from tfnb.codegen.opencl_c.render import render
from tfnb.codegen.opencl_c.tree import Assign, Call, Declare, For, If, Range, Return, Store, vector_loop


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Declare("int", "n", "3"), "int n = 3;"),
        (Declare("float16", "x"), "float16 x;"),
        (Declare("uint16", "words", length=4), "uint16 words[4];"),
        (Declare("__global float *", "sums", "p + 4"), "__global float *sums = p + 4;"),
        (Assign("a", "b"), "a = b;"),
        (Assign("a", "b", "|"), "a |= b;"),
        (Store("p", "i", "x", "float"), "p[i] = x;"),
        (Store("p", "i", "x", "half"), "vstore_half(x, i, p);"),
        (Store("p", "i", "x", "float", 16), "STORE(float, 16, x, p + i);"),
        (Store("p", "0", "x", "float", 16), "STORE(float, 16, x, p);"),
        (Store("p", "i", "x", "half", 16, "live"), "put(p + i, x, live);"),
        (Call("transpose", ("tile",)), "transpose(tile);"),
        (Call("finish", ()), "finish();"),
        (Call("PRODUCT_MEMORY", None), "PRODUCT_MEMORY;"),
        (Return(), "return;"),
    ],
)
def test_statements(node, text):
    assert render([node]) == [text]


def test_a_body_of_one_statement_has_no_braces():
    assert render([If("done", [Return()])]) == ["if (done)", "    return;"]
    store = Store("p", "i", "0", "float")
    assert render([For("int", "i", "0", "n", "1", [store])]) == ["for (int i = 0; i < n; ++i)", "    p[i] = 0;"]


def test_a_shared_loop_always_has_braces():
    lines = render([Range("int", "i", "n", 16, [Call("work", ("i",))])])
    assert lines == ["RANGE(int, i, n, 16) {", "    work(i);", "}"]


def test_loops_nest():
    inner = vector_loop("int", "i1", "0", "n", 16, [Store("p", "i1", "x", "float", 16, "live")])
    lines = render([For("long", "i0", "begin", "end", "rows", [Declare("int", "row", "i0"), inner])], 1)
    assert lines == [
        "    for (long i0 = begin; i0 < end; i0 += rows) {",
        "        int row = i0;",
        "        for (int i1 = 0; i1 < n; i1 += 16) {",
        "            int live = LIVE(n - i1, 16);",
        "            put(p + i1, x, live);",
        "        }",
        "    }",
    ]


def test_a_body_may_grow_after_its_loop_was_made():
    body = []
    loop = For("int", "i", "0", "n", "1", body)
    body.extend([Declare("float", "x", "p[i]"), Store("q", "i", "x", "float")])
    assert len(render([loop])) == 4
