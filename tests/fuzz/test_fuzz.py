"""A short run of the fuzzer: what hurt a reader once, and a few hundred mutants for each."""

import pytest

from fuzz.runner import Run
from fuzz.target import make_target, target_names
from fuzz.worker import input_of
from tfnb.errors import OpError

INPUTS = 300


@pytest.fixture(scope="module")
def run():
    made = Run(target_names(), INPUTS, seed=1, workers=1)  # a second one would only import tfnb, too
    made.go()
    return made


@pytest.mark.parametrize("name", target_names())
def test_a_reader_returns_or_refuses(run, name):
    assert run.tallies[name].inputs == INPUTS
    assert not [line for line in run.kinds() if line.startswith(f"{name}:")]


@pytest.mark.parametrize("name", target_names())
def test_seeds_are_valid_and_inputs_come_again(name, tmp_path):
    """A target whose seeds are refused would fuzz nothing but the first check."""
    target = make_target(name, tmp_path)
    refused = 0
    for seed in target.seeds:
        try:
            target.read(seed)
        except OpError:
            refused += 1
    assert refused < len(target.seeds) / 2
    for number in (0, 10_000, 10_001):
        assert input_of(target, 5, name, number) == input_of(target, 5, name, number)
