"""The messages of `tf.show_cluster`: the state of the tasks, out of the reports of `tfnb.session.dask`."""

from __future__ import annotations

from typing import Literal, TypedDict

TaskState = Literal["alive", "late", "lost"]


class _AnsweredTask(TypedDict, total=False):
    host: str
    pid: int
    memory: int
    """Memory of the process in bytes."""
    steps: int
    refused: int
    variables: int
    variable_bytes: int
    largest: list[tuple[str, int, list[int]]]
    """Name, bytes and shape of the largest variables."""


class TaskReport(_AnsweredTask):
    """The state of a task. Only the required fields are present if the task has never answered."""

    name: str
    job: str
    index: int
    address: str
    state: TaskState
    why: str
    """Why the task is lost, or ""."""
    lives: int
    """How many processes have run this task so far."""
    silent: float | None
    """Seconds since its last answer, null before the first."""


class DeviceReport(TypedDict):
    task: str
    name: str
    kind: str
    in_use: int
    peak: int
    cached: int
    limit: int


_Sender = TypedDict("_Sender", {"from": str})


class Sent(_Sender):
    """The transfers from one task to another; `rate` is in bytes per second, between the last two reports."""

    to: str
    messages: int
    bytes: int
    seconds: float
    steps: int
    rate: float
    tensors: list[tuple[str, int, int]]
    """For the tensors with the most bytes: name, number of messages, bytes."""


class ClusterState(TypedDict):
    tasks: list[TaskReport]
    devices: list[DeviceReport]
    sent: list[Sent]
    dashboard: str
    """The address of Dask's dashboard, or ""."""


class StateMessage(TypedDict):
    type: Literal["state"]
    state: ClusterState


class NoteMessage(TypedDict):
    type: Literal["note"]
    text: str


FromKernel = StateMessage | NoteMessage


class ToKernel(TypedDict):
    """Whether the view is visible; the kernel polls the tasks only while it is."""

    type: Literal["hello", "bye"]
