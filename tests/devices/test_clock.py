"""The device's clock in the host's time."""

import random

import pytest

from tfnb.devices.opencl.clock import DeviceClock


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
