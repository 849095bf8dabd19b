"""Makes this folder's `runner` importable, and gives the tests a device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def device():
    from runner import make_device

    made = make_device()
    yield made
    made.close()


@pytest.fixture
def check(device):
    """check(build, *arrays): the device's results are those of the host kernels."""
    import numpy as np
    from runner import reference, run_graph

    import tfnb as tf

    def run(build, *arrays, tolerance=1e-5, **changes):
        with tf.Graph().as_default() as graph:
            feeds = {tf.placeholder(a.dtype, a.shape): a for a in arrays}
            fetches = build(*feeds)
        fetches = list(fetches) if isinstance(fetches, (list, tuple)) else [fetches]
        got, _ = run_graph(device, graph, feeds, fetches, **changes)
        want, _ = reference(graph, feeds, fetches)
        for a, b in zip(got, want, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if a.dtype.kind in "fV":
                a, b = a.astype(np.float64), b.astype(np.float64)
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
            else:
                np.testing.assert_array_equal(a, b)

    return run
