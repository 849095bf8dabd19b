"""Programs of TensorFlow 0.6 to 1.15: `tf.contrib`, `tf.keras`, estimators, distributions, and `import tensorflow`.

This house stands beside the core and is built on it: it enters by `tfnb.frontend` alone, and no module of the core
imports it or names it. Importing it mounts its names; its modules load when a program uses one of them.
Invariant: everything that a user can name here has its public name in `names/` or in the `API` of its own module.
"""

from __future__ import annotations

from tfnb import frontend
from tfnb.v1.names.moved_modules import find_moved_modules

__all__: list[str] = []

frontend.mount(
    "tfnb.v1.names.tables",
    constant_classes=(("tfnb.v1.estimators.spec", "ModeKeys"), ("tfnb.v1.learn.model_fn", "ModeKeys")),
    graph_functions={"tfnb.v1": "tfnb.v1.names.graph_functions"},
    import_hook="tfnb.v1.programs.hook",
    commands={
        "run": frontend.Command(
            "[run] [--era ERA] PROGRAM [ARGUMENT ...]",
            "run a program for TensorFlow 0.x or 1.x unchanged: its `import tensorflow` means tfnb",
            "tfnb.v1.programs.command_line",
        ),
        "check": frontend.Command(
            "check [--era ERA] PROGRAM [PROGRAM ...]",
            "read programs without running them, and say which names are missing and what will differ",
            "tfnb.v1.programs.command_line",
        ),
    },
)
find_moved_modules()
