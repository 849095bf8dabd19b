"""A program's own memory for small inputs holds what came last, whatever came in between."""

import threading

import device_programs as p
import numpy as np
import pytest

from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import to_host


def filled(value):
    return np.full(3, value, np.float32)


@pytest.mark.opencl
def test_arrays_tensors_and_traced_runs_in_turn(device):
    loaded = device.load(p.add_scale(3))
    for k in range(4):
        a, b = filled(k), filled(10 * k)
        tensor = device.from_numpy(filled(100))
        for first, recorder, wanted in ((a, None, 22 * k), (tensor, None, 200 + 20 * k), (a, StepStats(), 22 * k)):
            (found,) = loaded.run([first, b], [], recorder=recorder)
            assert to_host(found).tolist() == [wanted] * 3
        assert a.tolist() == [k] * 3
        assert to_host(tensor).tolist() == [100] * 3  # nothing was written where it lies


@pytest.mark.opencl
def test_outputs_stay_while_inputs_change(device):
    loaded = device.load(p.add_scale(3))
    found = [loaded.run([filled(k), filled(1)], [])[0] for k in range(5)]
    assert [to_host(f).tolist() for f in found] == [[2.0 * (k + 1)] * 3 for k in range(5)]


@pytest.mark.opencl
def test_many_threads_run_one_program(device):
    loaded, wrong = device.load(p.add_scale(3)), []

    def work(number):
        for k in range(300):
            (found,) = loaded.run([filled(number), filled(k)], [])
            if to_host(found).tolist() != [2.0 * (number + k)] * 3:
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.opencl
def test_a_program_for_another_shape_takes_the_memory_over(make_device):
    """The same memory serves all shapes for which it is large enough; values and outputs are those of each shape."""
    device = make_device()
    loaded = None
    memory = set()
    for n in (3, 7, 3, 60, 2):
        loaded = device.load(p.add_scale(n), loaded)
        if not loaded.inline:
            pytest.skip("this driver runs nothing in the caller's thread")
        a = np.arange(n, dtype=np.float32)
        for k in range(2):
            (found,) = loaded.run([a, np.full(n, k, np.float32)], [])
            np.testing.assert_array_equal(to_host(found), 2 * (a + k))
        memory.add(loaded._own[0][0].array.ctypes.data)
    assert len(memory) == 1
