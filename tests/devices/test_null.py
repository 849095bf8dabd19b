"""The null device does nothing, in the right shapes."""

from __future__ import annotations

import device_programs as p
import numpy as np

from tfnb.codegen.program import DeviceFacts
from tfnb.devices.buffers import Cell
from tfnb.devices.null import NullDevice


def test_zeros_of_the_right_shape():
    device = NullDevice("/device:NULL:0", DeviceFacts(units=7))
    cell = Cell("v")
    (y,) = device.load(p.train(5)).run([np.ones(5, np.float32)], [cell])
    assert y.numpy().tolist() == [0] * 5
    assert cell.tensor.info == p.vector(5)
    assert device.describe()["units"] == 7
    assert device.fence() is None
    device.close()


def test_from_numpy_copies():
    device = NullDevice("/device:NULL:0")
    x = np.ones(3, np.float32)
    y = device.from_numpy(x)
    x[:] = 0
    assert y.numpy().tolist() == [1, 1, 1]
