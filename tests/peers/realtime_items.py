"""The conversation that a server of the Realtime API keeps: messages of text, in order."""

from collections.abc import Iterator

from tests.peers.realtime_events import Frame, Refusal
from tests.peers.server import Context


class Items:
    """Items by position and by id, as the vendor inserts, finds and deletes them."""

    def __init__(self) -> None:
        self._items: list[Frame] = []

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._items)

    @property
    def last(self) -> str | None:
        """The id of the last one."""
        return self._items[-1]["id"] if self._items else None

    @property
    def context(self) -> Context:
        """What the model sees of them."""
        return [message_of(item) for item in self._items]

    def append(self, item: Frame) -> None:
        """Add what the model writes."""
        self._items.append(item)

    def create(self, frame: Frame, new_id: str) -> tuple[Frame, str | None]:
        """Add what a client's event holds; the item, and the id of the one before it."""
        item = {"id": new_id, "object": "realtime.item", "status": "completed"} | _checked(frame["item"])
        if any(each["id"] == item["id"] for each in self._items):
            raise Refusal(f"An item with id '{item['id']}' exists.", "invalid_value", "item.id")
        before = frame.get("previous_item_id") or self.last or "root"
        at = 0
        if before != "root":
            at = self._at(before, "adding", "item_create_invalid_previous_item_id") + 1
        self._items.insert(at, item)
        return item, self._items[at - 1]["id"] if at else None

    def find(self, frame: Frame, doing: str, code: str) -> Frame:
        """The one that a client's event names."""
        return self._items[self._at(frame["item_id"], doing, code)]

    def delete(self, frame: Frame) -> None:
        """Take out the one that a client's event names."""
        del self._items[self._at(frame["item_id"], "deleting", "item_delete_invalid_item_id")]

    def _at(self, item_id: str, doing: str, code: str) -> int:
        for number, item in enumerate(self._items):
            if item["id"] == item_id:
                return number
        raise Refusal(f"Error {doing} item: the item with id '{item_id}' does not exist.", code)


def message_of(item: Frame) -> dict[str, str]:
    """An item as a message."""
    return {"role": item["role"], "content": "".join(part["text"] for part in item["content"])}


def _checked(given: Frame) -> Frame:
    if given.get("type") != "message":
        raise Refusal(f"Invalid value: '{given.get('type')}'.", "invalid_value", "item.type")
    if given["role"] not in {"assistant", "user", "system"}:
        text = f"Invalid value: '{given['role']}'. Supported values are: 'assistant', 'user', and 'system'."
        raise Refusal(text, "invalid_value", "item.role")
    right = "output_text" if given["role"] == "assistant" else "input_text"
    for number, part in enumerate(given["content"]):
        if part.get("type") != right:
            text = f"Invalid value: '{part.get('type')}'. Value must be '{right}'."
            raise Refusal(text, "invalid_value", f"item.content[{number}].type")
    return given
