"""Python imports this before a program when this folder is on PYTHONPATH."""

import os

if os.environ.get("OLD_PROGRAM_SETTINGS"):
    import recorder

    recorder.start()
