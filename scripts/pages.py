"""Generated pages of docs/: written, or with --check only compared."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["settle"]


def settle(page: Path, text: str, script: str) -> int:
    """The exit status: 1 when --check is given and the page is not current."""
    if "--check" in sys.argv[1:]:
        current = page.exists() and page.read_text(encoding="utf-8") == text
        if not current:
            print(f"{page} is not current: run python scripts/{script}")
        return 0 if current else 1
    page.write_text(text, encoding="utf-8")
    print(f"{page}: {len(text.splitlines())} lines")
    return 0
