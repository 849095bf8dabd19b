"""The messages of `tf.show_cluster`: the state of the tasks, of which `tfnb.session.dask` sends reports."""

from __future__ import annotations

from typing import Literal, TypedDict

TaskState = Literal["alive", "late", "lost"]


class _AnsweredTask(TypedDict, total=False):
    host: str
    pid: int
    memory: int
    """Bytes of the process."""
    steps: int
    refused: int
    variables: int
    variable_bytes: int
    largest: list[tuple[str, int, list[int]]]
    """Name, bytes and shape of the largest variables."""


class TaskReport(_AnsweredTask):
    """A task that never answered has only the required fields."""

    name: str
    job: str
    index: int
    address: str
    state: TaskState
    why: str
    """Why it is lost, or ""."""
    lives: int
    """How many processes have had the role."""
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
    """What a task has sent to another; `rate` is in bytes a second, between the last two answers."""

    to: str
    messages: int
    bytes: int
    seconds: float
    steps: int
    rate: float
    tensors: list[tuple[str, int, int]]
    """Name, messages and bytes of the tensors with the most bytes."""


class ClusterState(TypedDict):
    tasks: list[TaskReport]
    devices: list[DeviceReport]
    sent: list[Sent]
    dashboard: str
    """The address of Dask's own dashboard, or ""."""


class StateMessage(TypedDict):
    type: Literal["state"]
    state: ClusterState


class NoteMessage(TypedDict):
    type: Literal["note"]
    text: str


FromKernel = StateMessage | NoteMessage


class ToKernel(TypedDict):
    """Whether the view is visible: the kernel asks the tasks only then."""

    type: Literal["hello", "bye"]
