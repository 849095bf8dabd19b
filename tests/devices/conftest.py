"""Devices of PoCL, and ways to make more."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path

import pytest

from tfnb.settings import load_settings

_PROGRAMS = Path(__file__).with_name("programs.py")


def _load_programs():
    spec = importlib.util.spec_from_file_location("device_programs", _PROGRAMS)
    module = importlib.util.module_from_spec(spec)
    sys.modules["device_programs"] = module
    spec.loader.exec_module(module)
    return module


programs_module = sys.modules.get("device_programs") or _load_programs()


@pytest.fixture(scope="session")
def settings():
    return dataclasses.replace(load_settings(), quiet=True)


@pytest.fixture(scope="session")
def unit(settings):
    from tfnb.devices.opencl.platforms import units

    return units(settings)[0]


@pytest.fixture
def make_device(settings, unit):
    from tfnb.devices.opencl.device import OpenCLDevice, _library

    made = []

    def make(limit=0, shared=None):
        device = OpenCLDevice(
            f"/device:CPU:{len(made)}",
            unit,
            _library(unit, settings),
            memory_limit=limit,
            shared=shared,
        )
        made.append(device)
        return device

    yield make
    for device in made:
        device.close()


@pytest.fixture(params=["threads", "inline", "buffers"])
def device(make_device, request, monkeypatch):
    """Each way a program can run: PoCL's threads, the caller's thread, memory the host does not see."""
    from tfnb.devices.opencl import program

    if request.param == "threads":
        monkeypatch.setattr(program, "INLINE_BYTES", -1)
    return make_device(shared=False if request.param == "buffers" else None)
