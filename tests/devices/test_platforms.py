"""Which devices there are, and the choice among them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tfnb.codegen.program import DeviceFacts, Launch, Module, Program, Slot
from tfnb.devices.opencl import list_devices, make_devices, pocl
from tfnb.devices.opencl.platforms import Unit, _choose
from tfnb.errors import DeviceNotFoundError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.types import float32

pytestmark = pytest.mark.opencl
ROOT = Path(__file__).resolve().parents[2]


def a_unit(platform, device, kind):
    p = SimpleNamespace(name=platform, vendor="")
    return Unit(p, SimpleNamespace(name=device, vendor=""), None, None, DeviceFacts(kind))


POCL = a_unit("Portable Computing Language", "pthread-EPYC", "cpu")
INTEL = a_unit("Intel(R) OpenCL", "Xeon", "cpu")
TESLA = a_unit("NVIDIA CUDA", "Tesla T4", "gpu")
RADEON = a_unit("AMD Accelerated", "gfx900", "gpu")
EVERY = (TESLA, INTEL, RADEON, POCL)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ("", (POCL, TESLA, RADEON)),
        ("pocl", (POCL,)),
        ("intel", (INTEL,)),
        ("NVIDIA", (POCL, TESLA)),
        ("tesla, intel", (INTEL, TESLA)),
        ("gpu", (POCL, TESLA, RADEON)),
        ("cpu", (INTEL, POCL)),
    ],
)
def test_choice(wish, expected):
    assert _choose(EVERY, wish) == expected


def test_without_pocl_the_first_cpu_serves():
    assert _choose((TESLA, INTEL), "") == (INTEL, TESLA)
    assert _choose((TESLA,), "") == (TESLA,)


def test_nothing_matches():
    with pytest.raises(DeviceNotFoundError, match=r"'vega'.*Tesla T4 \(NVIDIA CUDA\).*\nunset TFNB_DEVICES\n"):
        _choose(EVERY, "nvidia,vega")


def test_list_devices(settings):
    first = list_devices(settings)[0]
    assert first["name"] == "/device:CPU:0"
    assert first["units"] >= 1
    assert {"platform", "device", "driver", "memory", "kind"} <= first.keys()


def test_logical_devices_share_a_unit(settings):
    devices = make_devices(settings, {"CPU": 3}, memory_limit=1 << 20, prefix="/job:ps/task:2")
    assert [d.name for d in devices if "CPU" in d.name] == [f"/job:ps/task:2/device:CPU:{i}" for i in range(3)]
    assert devices[0].unit is devices[1].unit
    assert devices[0].memory_stats().limit == 1 << 20
    for d in devices:
        d.close()


def test_gpus_that_are_not_there(settings):
    there = sum(d["kind"] == "gpu" for d in list_devices(settings))
    with pytest.raises(DeviceNotFoundError, match=f"asks for {there + 1} GPU devices"):
        make_devices(settings, {"GPU": there + 1})


def run_process(code, **env):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("POCL_", "TFNB_"))} | env
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def test_no_device_says_how_to_get_one(tmp_path):
    code = """
        from tfnb.devices.opencl import list_devices
        from tfnb.errors import DeviceNotFoundError
        from tfnb.settings import load_settings
        for _ in range(2):
            try:
                list_devices(load_settings())
            except DeviceNotFoundError as e:
                assert "POCL_DEVICES is 'none-such'\\nunset POCL_DEVICES\\n" in str(e)
                assert "tfnb doctor" in str(e)
                print("refused")
    """
    done = run_process(code, POCL_DEVICES="none-such", TFNB_CACHE_DIR=str(tmp_path))
    assert (done.stdout, done.returncode) == ("refused\nrefused\n", 0), done.stderr


def test_the_environment_stays(tmp_path):
    code = """
        import os
        before = dict(os.environ)
        from tfnb.devices.opencl import make_devices
        from tfnb.settings import load_settings
        make_devices(load_settings())
        assert dict(os.environ) == before
    """
    done = run_process(code, TFNB_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "cache" / "processes").iterdir()) == []


def test_vector_builtins_work_whatever_the_processor(settings):
    """On processors newer than PoCL's compiler they abort the process unless it is told (see `pocl.py`)."""
    source = """__kernel void f(__global const float16 *a, __global float16 *b)
    { b[0] = exp(tanh(a[0])) + fma(a[0], a[0], fmax(a[0], 1.0f)) + convert_float16(convert_int16(a[0])); }"""
    info = TensorInfo(float32, (16,))
    steps = (Launch(0, "f", (Slot("input", 0, 0, 64), Slot("output", 0, 0, 64))),)
    device = make_devices(settings)[0]
    x = np.linspace(-3, 3, 16, dtype=np.float32)
    (y,) = device.load(Program("p", (Module(source),), steps, (info,), (info,), (), (), (), 0)).run([x], [])
    np.testing.assert_allclose(y.numpy(), np.exp(np.tanh(x)) + x * x + np.maximum(x, 1) + np.trunc(x), rtol=1e-5)
    device.close()


@pytest.mark.parametrize("version", ["", "OpenCL 3.0 PoCL HSTR: cpu-aarch64-linux-gnu-cortex-a72", "HSTR: nonsense"])
def test_other_processors_are_left_alone(version):
    assert not pocl.teach_avx512(SimpleNamespace(version=version, int_ptr=0))


def test_threads_are_tied_to_cores_only_where_all_cores_are_ours(monkeypatch):
    monkeypatch.delenv("POCL_MAX_PTHREAD_COUNT", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert pocl._may_pin()
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "1")
    assert not pocl._may_pin()
    monkeypatch.delenv("POCL_MAX_PTHREAD_COUNT")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3}, raising=False)
    assert not pocl._may_pin()
