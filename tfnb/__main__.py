"""`python -m tfnb`: the command in `tfnb/old_programs/command_line.py`.

Invariant: importing this module runs nothing.
"""

from __future__ import annotations

import sys

from tfnb.old_programs.command_line import main

if __name__ == "__main__":
    sys.exit(main())
