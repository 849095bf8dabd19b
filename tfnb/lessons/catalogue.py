"""All exercises by their numbers. Invariant: each notebook has three, numbered in its order."""

from __future__ import annotations

from tfnb.lessons.case import Exercise
from tfnb.lessons.exercises import (
    builder,
    control_flow,
    convolutions,
    dask_cluster,
    digits,
    embeddings,
    first_graph,
    input_pipeline,
    many_devices,
    old_programs,
    own_operation,
    profile,
    recurrent_text,
    save_and_restore,
    viewer,
)

__all__ = ["EXERCISES"]

_NOTEBOOKS = (
    first_graph,
    digits,
    control_flow,
    input_pipeline,
    save_and_restore,
    viewer,
    profile,
    many_devices,
    dask_cluster,
    builder,
    own_operation,
    convolutions,
    recurrent_text,
    embeddings,
    old_programs,
)
EXERCISES: dict[str, Exercise] = {
    f"{k}.{n}": Exercise(f"{k}.{n}", title, cases)
    for k, notebook in enumerate(_NOTEBOOKS, 1)
    for n, (title, cases) in enumerate(notebook.EXERCISES, 1)
}
