"""The device's clock in the host's time."""

import random
import time

import numpy as np
import pytest
from device_programs import product

from tfnb.devices.opencl.clock import DeviceClock
from tfnb.runtime.stats import KERNEL, StepStats


def test_bounds_narrow_and_follow_the_drift():
    clock, rng, errors = DeviceClock(), random.Random(1), []
    for k in range(300):
        host = 1e4 * k
        origin = 5e6 + 2e-5 * host  # the clocks drift by 20 ppm
        early, late = rng.uniform(0, 40), rng.uniform(0, 40)  # what lies between our looks and the launches
        zero = clock.zero(host - early, host - origin, host + 30 - origin, host + 30 + late)
        assert -early - 1e-3 <= zero - origin <= late + 1e-3
        errors.append(abs(zero - origin))
    assert sum(errors) / len(errors) < 4  # the middle of a batch's own bounds would be 6.7 off


def test_a_clock_that_jumped_starts_again():
    clock = DeviceClock()
    assert clock.zero(0, 100, 110, 20) == pytest.approx(-95)
    assert clock.zero(1000, 5000, 5010, 1012) == pytest.approx(-3999)


class Slow(StepStats):
    """Its thread waits before it looks at the clock, as on a busy machine."""

    def now_us(self):
        time.sleep(0.02)
        return super().now_us()


def test_a_run_ends_before_who_waited_for_it_goes_on(make_device):
    """Though nothing else bounds the clock from above: looks at it are far from the launch."""
    device = make_device(shared=True)
    program = device.load(product(1000))
    one = np.ones(1_000_000, np.float32)
    program.run([one, one], [])[0].numpy()
    device.profiling_queue(program.inline)
    for _ in range(3):
        device.clocks[program.inline] = DeviceClock()
        recorder = Slow()
        (y,) = program.run([one, one], [], None, recorder)
        y.numpy()
        went_on = (time.perf_counter() - recorder.begin) * 1e6
        [kernel] = recorder.in_order(KERNEL)
        assert kernel.start_us < kernel.end_us <= went_on
