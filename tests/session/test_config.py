"""What a session is configured with is done or refused."""

from __future__ import annotations

import dataclasses

import pytest

import tfnb as tf
from tfnb import errors
from tfnb.devices.opencl import device as opencl
from tfnb.settings import load_settings


def test_the_visible_gpus(monkeypatch):
    settings = dataclasses.replace(load_settings(), quiet=True)
    cpu = opencl.units(settings)[0]
    gpus = [dataclasses.replace(cpu, facts=dataclasses.replace(cpu.facts, kind="gpu")) for _ in range(3)]
    monkeypatch.setattr(opencl, "units", lambda settings: [cpu, *gpus])
    chosen = []
    monkeypatch.setattr(opencl, "OpenCLDevice", lambda name, unit, *_, **__: chosen.append((name, unit)))
    for text, expected in (("2,0", [gpus[2], gpus[0]]), ("", gpus), ("1", [gpus[1]])):
        chosen.clear()
        visible = tf.GPUOptions(visible_device_list=text).visible_gpus()
        opencl.make_devices(settings, {"CPU": 1}, visible_gpus=visible, prefix="")
        found = [unit for name, unit in chosen if "GPU" in name]
        assert len(found) == len(expected) and all(a is b for a, b in zip(found, expected, strict=True))
    with pytest.raises(errors.DeviceNotFoundError, match="names GPU 3"):
        opencl.make_devices(settings, visible_gpus=[0, 3])


@pytest.mark.parametrize("text", ["a", "0,0", "1;2", "-1"])
def test_no_list_of_gpus(text):
    with pytest.raises(errors.InvalidArgumentError, match="visible_device_list"):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=text)))


def test_other_traces_are_refused():
    timeline = tf.python.client.timeline.Timeline([])
    for given in ({"show_memory": True}, {"op_time": "gpu"}):
        with pytest.raises(errors.InvalidArgumentError, match=next(iter(given))):
            timeline.generate_chrome_trace_format(**given)


def test_other_protocols_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="grpc"):
        tf.train.Server({"a": ["localhost:0"]}, protocol="grpc+verbs", start=False)
