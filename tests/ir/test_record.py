"""Records are frozen dataclasses with slots in all that can be seen."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from tfnb.ir.record import record


@record
class Point:
    """Where."""

    x: int
    y: int = 2
    label: str = field(default="p", repr=False)

    def moved(self) -> "Point":
        return replace(self, x=self.x + 1)


@record
class Far(Point):
    z: float = 0.5


@record
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Standard:
    x: int
    y: int = 2
    label: str = field(default="p", repr=False)


def test_as_the_standard_ones():
    assert [f.name for f in fields(Point)] == [f.name for f in fields(Standard)]
    assert repr(Point(1)) == repr(Standard(1)).replace("Standard", "Point") == "Point(x=1, y=2)"
    assert hash(Point(1)) == hash(Standard(1))
    assert Point.__doc__ == "Where." and not hasattr(Point(1), "__dict__")
    for wrong in ((), (1, 2, "a", 4)):
        with pytest.raises(TypeError, match="argument"):
            Point(*wrong)


def test_equal_when_all_fields_of_one_class_are():
    assert Point(1) == Point(1, 2) and Point(1) != Point(1, 3) and Point(1) != Standard(1)
    assert Point(1) != Far(1) and Far(1, z=1.0) != Far(1) and Empty() == Empty() and len({Empty(), Empty()}) == 1
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_nothing_changes_it():
    point = Far(1)
    for name in ("x", "z", "moved"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(point, name, 3)
        with pytest.raises(FrozenInstanceError, match=name):
            delattr(point, name)
    with pytest.raises(AttributeError):
        point.other = 1
    assert point == Far(1)


def test_copies():
    point = Far(3, label="q")
    assert point.moved() == Far(4, label="q") and point.moved().label == "q"
    for again in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert again == point and again.label == "q"
