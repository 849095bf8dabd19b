"""`python -m tfnb`: the command `tfnb`.

Invariant: importing this module runs nothing.
"""

from __future__ import annotations

import sys

from tfnb.frontend import main

if __name__ == "__main__":
    sys.exit(main())
