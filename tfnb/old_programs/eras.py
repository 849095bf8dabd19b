"""The eras of TensorFlow whose meanings differ: 0.6, 0.12 and 1.15, each the last version of its kind."""

from __future__ import annotations

from tfnb.errors import InvalidArgumentError

__all__ = ["ERAS", "version_of"]

# era -> the `tf.__version__` that programs read
ERAS = {"0.6": "0.6.0", "0.12": "0.12.1", "1.15": "1.15.5"}


def version_of(era: str | None) -> str:
    """Returns the version that programs read. Raises `InvalidArgumentError` for an era that there is not."""
    if era is None:
        return ERAS["1.15"]
    if era not in ERAS:
        raise InvalidArgumentError(f"era is {era!r}; needed one of {', '.join(ERAS)}")
    return ERAS[era]
