"""Hyperparameters of a training by name, as `tf.contrib.training.HParams` holds and reads them.

Invariant: a hyperparameter keeps the type of its first value; a list keeps the type of its elements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import AlreadyExistsError, InvalidArgumentError

__all__ = ["HParams", "parse_values"]

_ITEM = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*(\[(?P<list>[^\]]*)\]|(?P<one>[^,\[]*))\s*(,|$)"
)


def _bool(text: str) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    if text.strip().lower() not in words:
        raise ValueError(f"{text!r} is not a bool")
    return words[text.strip().lower()]


def _converted(name: str, kind: Callable[..., Any], text: str) -> Any:
    try:
        return _bool(text) if kind is bool else kind(text.strip())
    except ValueError as e:
        raise InvalidArgumentError(f"{text!r} is no value for the hyperparameter {name}: {e}") from None


def parse_values(
    values: str, type_map: Mapping[str, Callable[..., Any]], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Returns the hyperparameters in the text `values`, such as "rate=0.1,sizes=[10,20],sizes[1]=30", by name.

    type_map: the type of each name, with which its text is read. A single element of a list comes as a dict from index
    to value. Raises `InvalidArgumentError` for names that `type_map` lacks, unless `ignore_unknown`, for values of
    other types, and for text that does not read.
    """
    result: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ITEM.match(values, position)
        if match is None:
            raise InvalidArgumentError(f"hyperparameters do not read: {values[position:]!r}")
        position = match.end()
        name = match["name"]
        if name not in type_map:
            if not ignore_unknown:
                raise InvalidArgumentError(f"there is no hyperparameter {name}; there are {sorted(type_map)}")
            continue
        kind = type_map[name]
        if match["list"] is not None:
            result[name] = [_converted(name, kind, part) for part in match["list"].split(",") if part.strip()]
        elif match["index"] is not None:
            result.setdefault(name, {})[int(match["index"])] = _converted(name, kind, match["one"])
        else:
            result[name] = _converted(name, kind, match["one"])
    return result


class HParams:
    """Hyperparameters as attributes: HParams(rate=0.1).rate.

    hparam_def: not supported; model_structure: an object that is kept as it is.
    """

    def __init__(self, hparam_def: None = None, model_structure: object = None, **kwargs: object) -> None:
        if hparam_def is not None:
            raise InvalidArgumentError("HParams: give the hyperparameters by name instead of hparam_def")
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter. Raises `AlreadyExistsError` for a name that is an attribute, `InvalidArgumentError`
        for an empty list."""
        if getattr(self, name, None) is not None:
            raise AlreadyExistsError(f"there is an attribute {name} of the hyperparameters already")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise InvalidArgumentError(f"the hyperparameter {name} is an empty list, whose type is not known")
        self._types[name] = (type(value[0]) if is_list else type(value), is_list)
        setattr(self, name, list(value) if is_list else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes the value of the hyperparameter `name`.

        Raises `InvalidArgumentError` for unknown names and for values of another type.
        """
        if name not in self._types:
            raise InvalidArgumentError(f"there is no hyperparameter {name}; there are {sorted(self._types)}")
        kind, is_list = self._types[name]
        if isinstance(value, (list, tuple)) != is_list:
            raise InvalidArgumentError(
                f"the hyperparameter {name} must {'' if is_list else 'not '}be a list, got {value!r}"
            )
        setattr(self, name, [self._cast(name, kind, v) for v in value] if is_list else self._cast(name, kind, value))

    def _cast(self, name: str, kind: type, value: Any) -> Any:
        if kind is type(None) or value is None or isinstance(value, kind):
            return value
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if (kind is float and number) or (kind is int and isinstance(value, int) and not isinstance(value, bool)):
            return kind(value)
        raise InvalidArgumentError(f"the hyperparameter {name} is of {kind.__name__}, got {value!r}")

    def del_hparam(self, name: str) -> None:
        """Removes the hyperparameter `name`, if it exists."""
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def parse(self, values: str) -> HParams:
        """Changes the hyperparameters to those in the text `values`; see `parse_values`. Returns itself."""
        kinds = {name: kind for name, (kind, _) in self._types.items()}
        for name, value in parse_values(values, kinds).items():
            if isinstance(value, dict):
                for index, element in value.items():
                    getattr(self, name)[index] = element
            else:
                self.set_hparam(name, value)
        return self

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes the hyperparameters to those of `values_dict`, by name. Returns itself."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Changes the hyperparameters to those of a JSON object, given as text. Returns itself."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """Returns the hyperparameters as a JSON object, without functions. The arguments are those of `json.dumps`."""
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def set_model_structure(self, model_structure: object) -> None:
        """Keeps the object `model_structure`."""
        self._model_structure = model_structure

    def get_model_structure(self) -> object:
        """Returns the object given to `set_model_structure`."""
        return self._model_structure

    def values(self) -> dict[str, Any]:
        """Returns the hyperparameters by name."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: object = None) -> Any:
        """Returns the hyperparameter `key`, or `default` when there is none."""
        return getattr(self, key) if key in self._types else default

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"
