"""The pages of the site: of which of four kinds each is, in the order in which they are shown.

A tutorial is done from top to bottom, a how-to page leads to a goal, the reference holds facts, an explanation gives
reasons. Paths are those of the repository; a folder stands for its pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["KINDS", "ROOT", "UNSORTED", "Kind", "pages_of"]

ROOT = Path(__file__).resolve().parents[2]


class Kind(NamedTuple):
    """One of the four kinds of pages, with a sentence for the index and its pages with a line on each."""

    title: str
    about: str
    pages: dict[str, str]


KINDS = (
    Kind(
        "Tutorials",
        "Notebooks to be run from top to bottom, in JupyterLab with `make lab`. Each ends with three exercises.",
        {
            "examples/01_first_graph.ipynb": "a graph, a session, gradients; Figure 1 of the OSDI'16 paper",
            "examples/02_mnist.ipynb": "a convolutional network that reads handwritten digits",
            "examples/03_control_flow.ipynb": "branches, loops, recurrent networks, and gradients through them",
            "examples/04_input_pipeline.ipynb": "records, queues and threads, data sets, prefetching",
            "examples/05_save_and_restore.ipynb": "checkpoints, interrupted trainings, event files",
            "examples/06_viewer.ipynb": "curves, histograms and images of a training, live",
            "examples/07_profile.ipynb": "where the time of a step goes",
            "examples/08_many_devices.ipynb": "one step on several devices: placement, partitions, transfers",
            "examples/09_dask_cluster.ipynb": "a training on many processes",
            "examples/10_builder.ipynb": "draw a graph, read it as Python, train it where you stand",
            "examples/11_own_operation.ipynb": "an operation of your own, with a gradient and a kernel in OpenCL C",
            "examples/12_convolutions.ipynb": "a convolutional network from scratch, its filters and feature maps",
            "examples/13_recurrent_text.ipynb": "a recurrent network that reads a book, and its gates over a sentence",
            "examples/14_embeddings.ipynb": "words as vectors, and a softmax that looks at few of them",
            "examples/15_old_programs.ipynb": "run an old paper's code, find its era, port it with the same results",
        },
    ),
    Kind(
        "How-to guides",
        "Short answers to one question at a time.",
        {
            "docs/how-to": "",
            "docs/builder.md": "all gestures, keys and panes of `tf.builder`",
            "docs/graph.md": "search and trace graphs of 36,000 nodes",
            "docs/viewer.md": "curves and histograms of event files",
            "docs/timeline.md": "the slowest operation in one click",
            "docs/cluster.md": "tasks, and who sends what to whom",
            "docs/old_programs.md": "`tfnb run`, `tfnb check`, and what to expect",
            "docs/support.md": "`tfnb doctor`, bugs, which versions are supported",
            "CONTRIBUTING.md": "add an op, a pass, a device, a widget",
            "SECURITY.md": "how to report a weakness",
        },
    ),
    Kind(
        "Reference",
        "Facts: every public name with its signature and examples that the tests run.",
        {
            "reference": "functions and classes, module by module",
            "docs/ops.md": "every operation of graphs: signature, dtypes, kernels, gradient",
            "docs/api_status.md": "every public name of TensorFlow 1.15: present, incomplete, missing or refused",
            "docs/differences.md": "where results differ from TensorFlow's, and why",
            "docs/hints.md": "parameters that are mere hints",
            "docs/accuracy.md": "errors of elementwise functions, measured",
            "docs/conformance.md": "TensorFlow's own tests: how many pass, and why the rest does not",
            "docs/programs.md": "public programs of the time, and which of them run",
            "docs/readers.md": "what reads files and messages, its limits, and what it refuses",
            "docs/glossary.md": "the words of these pages",
            "CHANGELOG.md": "what changed in each version",
        },
    ),
    Kind(
        "Explanation",
        "How it works, and why it is built like that.",
        {
            "docs/explanation": "",
            "docs/architecture.md": "the parts, and who may import whom",
            "docs/decisions/README.md": "the decisions, with what was rejected",
            "docs/decisions": "",
            "benchmarks/RESULTS.md": "what was measured",
        },
    ),
)
# folder of docs/ -> where its pages are shown instead
UNSORTED = {"docs/examples": "in the reference, each at its name"}


def pages_of(kind: Kind, root: Path) -> list[str]:
    """Returns the paths of a kind's pages below `root`, in order, without their suffixes."""
    found: list[str] = []
    for entry in kind.pages:
        path = root / entry
        files = sorted(path.glob("*.md")) if path.is_dir() else [path]
        names = [str(f.relative_to(root).with_suffix("")) for f in files]
        if path.is_dir() and f"{entry}/index" in names:  # the index leads to the others
            names = [f"{entry}/index"]
        found += [name for name in names if name not in found]
    return found
