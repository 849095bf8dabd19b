"""The suites of TensorFlow's own tests: where they are, which TensorFlow is the judge, and which files count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SUITES", "Suite"]

SOURCES = "tensorflow/python"
FOLDERS = (
    "client", "data", "feature_column", "framework", "kernel_tests", "layers", "lib", "ops", "saved_model", "summary",
    "training",
)  # fmt: skip
# Folders and files that are about parts which tfnb does not have, need a GPU or a cluster, or measure times.
LEFT_OUT = (
    "benchmark", "debug/", "tools/", "eager", "keras", "grappler", "estimator", "profiler",
    "basic_gpu", "neon_", "large_concat", "localhost_cluster_performance", "saver_large", "gcs", "no_tsan",
)  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """The tests of a repository at a commit; those that pass under TensorFlow `version` are valid."""

    name: str
    repository: str
    commit: str
    version: str
    era: str

    def files(self, tree: Path) -> list[str]:
        """Returns the paths of the suite's test files below the folder `tensorflow/python` of a checkout."""
        root = tree / SOURCES
        found = (str(f.relative_to(root)) for f in root.rglob("*_test.py"))
        return sorted(f for f in found if self._counts(f))

    def _counts(self, path: str) -> bool:
        chosen = path.split("/")[0] in FOLDERS or path == "util/nest_test.py"
        return chosen and not any(part in f"{SOURCES}/{path}" for part in LEFT_OUT)


SUITES = (
    Suite("0.11", "hughperkins/tf-coriander", "970d3df6c11400ad68405f22b0c42a52374e94ca", "0.12.1", "0.12"),
    Suite("1.5", "jhabikal21/tensorflow", "98d20962172301385aae694141801a375debd2bc", "1.5.0", "1.5"),
)
