"""What a wrong name may have meant: `tf.nn.sofmax` is near to softmax, the keyword `activaton` to activation.

The messages of errors end with what this module proposes. Invariant: nothing is compared unless an error is raised.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any

__all__ = ["bound_arguments", "did_you_mean", "nearest"]

_LIKENESS = 0.7  # how alike two names must be, by difflib's measure from 0 to 1
_MOST = 3


def nearest(name: str, names: Iterable[str], most: int = _MOST) -> list[str]:
    """Returns up to `most` of the `names` that `name` may have been meant as, the nearest first.

    Capital letters and underscores do not count: `AdamOptimiser` and `adam_optimizer` are both near to AdamOptimizer.
    """
    by_form: dict[str, list[str]] = {}
    for candidate in sorted(set(names)):
        by_form.setdefault(_form(candidate), []).append(candidate)
    wanted = _form(name)
    alike = difflib.SequenceMatcher(None, "", wanted)
    found = []
    for form in difflib.get_close_matches(wanted, by_form, 4 * most, _LIKENESS):
        alike.set_seq1(form)
        found.append((-alike.ratio(), form))
    forms = [form for _, form in sorted(found)]  # by the alphabet where several are equally near
    return [candidate for form in forms for candidate in by_form[form] if candidate != name][:most]


def _form(name: str) -> str:
    return name.lower().replace("_", "")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns the end of a message, "; did you mean a, b or c?", or "" when none of the `names` is near."""
    found = nearest(name, names)
    if not found:
        return ""
    return f"; did you mean {' or '.join(filter(None, [', '.join(found[:-1]), found[-1]]))}?"


def bound_arguments(
    signature: Signature, function: str, args: Iterable[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a call by the names of the parameters.

    Raises `TypeError` if they do not fit the `signature`. The message names the `function`, and for a keyword that it
    does not have the nearest one that it has.
    """
    try:
        return signature.bind(*args, **keywords).arguments
    except TypeError as e:
        parameters = signature.parameters.values()
        known = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
        unknown = next((k for k in keywords if k not in known), None)
        hint = did_you_mean(unknown, known) if unknown is not None else ""
        raise TypeError(f"{function}() {e}{hint}") from None
