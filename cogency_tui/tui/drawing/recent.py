"""What was made last, up to a bound: of a long text only what is looked at is held ready."""

from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by number; of more than `most` those that were asked for longest ago are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[int, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, number: int) -> Value | None:
        """The value with this number, if it is still there."""
        value = self._values.get(number)
        if value is not None:
            self._values.move_to_end(number)
        return value

    def put(self, number: int, value: Value) -> Value:
        """Keep `value`, which is returned."""
        self._values[number] = value
        self._values.move_to_end(number)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def drop(self, number: int) -> None:
        """Forget the value with this number, if it is there."""
        self._values.pop(number, None)

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
