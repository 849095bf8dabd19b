"""The public names of this package, from which `scripts/public_names.py` writes the table."""

from __future__ import annotations

from typing import Any

from tfnb.lessons.case import Case, Kind
from tfnb.lessons.checking import Progress, check, grade, progress
from tfnb.lessons.report import CaseResult, Report

__all__ = ["API"]

API: dict[str, Any] = {
    "lessons.Case": Case,
    "lessons.CaseResult": CaseResult,
    "lessons.Kind": Kind,
    "lessons.Progress": Progress,
    "lessons.Report": Report,
    "lessons.check": check,
    "lessons.grade": grade,
    "lessons.progress": progress,
}
