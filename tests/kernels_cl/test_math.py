"""Functions of lib/math.clh that are computed otherwise on other processors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from tfnb.devices.opencl.build import kernels_root

SOURCE = """
#undef __AVX512F__
#define W {lanes}
#include "lib/math.clh"
__kernel void apply(__global float{lanes} *a) {{ a[get_global_id(0)] = t_rsqrt(a[get_global_id(0)]); }}
"""


@pytest.mark.parametrize("lanes", ["", "8", "16"])
def test_rsqrt_without_an_estimate_of_the_processor(runner: Any, lanes: str) -> None:
    """From the smallest normal number on, in whose half a step of Newton's method must not multiply."""
    tiny = np.finfo(np.float32).tiny
    x = np.concatenate([tiny * np.linspace(1, 8, 1000), np.geomspace(tiny, 3e38, 3080)]).astype(np.float32)
    x[-4:] = 1, 0, np.inf, -1
    options = ["-I", str(kernels_root()), "-cl-denorms-are-zero", "-w"]
    program = cl.Program(runner.context, SOURCE.format(lanes=lanes)).build(options)
    buffer = runner.buffer(x)
    program.apply(runner.queue, (len(x) // int(lanes or 1),), None, buffer)
    got = np.empty_like(x)
    cl.enqueue_copy(runner.queue, got, buffer)
    np.testing.assert_array_equal(got[-4:], np.array([1, np.inf, 0, np.nan], np.float32))
    exact = 1 / np.sqrt(x[:-4].astype(np.float64))
    assert np.max(np.abs(got[:-4] - exact) / np.spacing(exact.astype(np.float32))) <= 2
