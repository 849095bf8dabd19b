"""Makes the pictures of docs/images anew: `python scripts/doc_images.py`, in an environment with chromium.

The browser tests of the extension and `tests/browser/doc_images.py` leave pictures in tests/browser/shots; those whose
names docs/images has are copied there with 256 colours. Invariant: a picture without a source is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
SHOTS, IMAGES = ROOT / "tests" / "browser" / "shots", ROOT / "docs" / "images"
SOURCES = (
    *("tests/browser/doc_images.py", "tests/browser/test_extension.py"),
    *("tests/browser/test_builder.py", "tests/browser/test_builder_films.py"),
)


def main() -> int:
    shutil.rmtree(SHOTS, ignore_errors=True)
    environment = {**os.environ, "TFNB_REQUIRE_BROWSER": "1", "TFNB_FILMS": "1", "PYTHONPATH": str(ROOT)}
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", *SOURCES], cwd=ROOT, env=environment, check=False)
    missing = []
    for path in sorted(IMAGES.glob("*.png")):
        shot = next((shot for shot in (SHOTS / "docs" / path.name, SHOTS / path.name) if shot.exists()), None)
        if shot is None:
            missing.append(path.name)
            continue
        Image.open(shot).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if missing:
        print(f"no picture was made for {', '.join(missing)}")
    return tests.returncode or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
