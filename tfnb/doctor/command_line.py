"""The command `tfnb doctor`: runs the checks, prints their records, and tells by its status whether all is well.

Invariant: the status is 1 if a record is wrong, and 0 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tfnb.doctor.checks import CHECKS, records_of
from tfnb.doctor.records import Record
from tfnb.release import VERSION

__all__ = ["main"]

_AT_ONCE = 2  # checks; most of them wait for a child


def main(arguments: Sequence[str]) -> int:
    """Runs `tfnb doctor` with these arguments, of which the first is "doctor"; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments[1:])
    for name in options.checks:
        if name not in CHECKS:
            parser.error(f"there is no check {name!r}; there are {', '.join(CHECKS)}")
    chosen = [CHECKS[name] for name in options.checks or CHECKS]
    found: list[Record] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for records in pool.map(partial(records_of, fix=options.fix), chosen):  # in their order, each when it has ended
            found += records
            if not options.json:
                sys.stdout.writelines(f"{record.lines()}\n" for record in records)
                sys.stdout.flush()
    counts = {state: sum(record.state == state for record in found) for state in ("ok", "mended", "warning", "wrong")}
    if options.json:
        told = {"version": VERSION, **counts, "records": [record.as_dict() for record in found]}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        sys.stdout.write(f"{', '.join(f'{n} {state}' for state, n in counts.items() if n)}\n")
    return 1 if counts["wrong"] else 0


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, CHECKS))
    parser = argparse.ArgumentParser(
        prog="tfnb doctor",
        description="Looks at this installation: a line for each thing, with ok, warning or wrong, and below it the\n"
        "command that mends it. The status is 1 if something is wrong.",
        epilog="checks:\n" + "\n".join(f"  {c.name:<{width}}  {c.summary}" for c in CHECKS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without harm in tfnb's own folder")
    parser.add_argument("--json", action="store_true", help="print an object with all records")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="only these; without any, all of them")
    return parser
