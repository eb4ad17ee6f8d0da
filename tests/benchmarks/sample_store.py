"""A large store for benchmarks, the same everywhere: random conversations from a fixed seed.

Words are drawn by Zipf's law from a vocabulary of prose, code and made-up names; lengths of prompts,
thoughts, calls, outputs and answers are those of real work: most short, some very long.
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from cogency_tui.protocol.events import Event
from cogency_tui.store.events import encode, title_of
from cogency_tui.store.store import Store, StoredConversation, insert

SEED = 20260501

_START = 1_700_000_000.0
_PROJECTS = 12
_VOCABULARY = 40_000
_COMMON = tuple(
    str.split(
        """the a to of in is it and that for on with as this be not are from or by an at if we have return
self def import None True else class str int value name file path error test list data text type key line
result call args content config handler request response server client retry timeout parser index cache
store event message token stream session provider model tool shell write read edit search match query
function method object string number array dict check fails pass fixed change update remove add create
delete build run start stop open close loop task thread process lock queue batch size limit offset page
pagination schema table column row insert select where join order group checkout invoice payment customer
product price total account user password login logout permission role status code header body"""
    )
)
_CALLS = {"edit": (3.8, 0.8), "shell": (2.0, 0.6), "find": (0.7, 0.2), "write": (5.0, 0.8)}
_OUTPUTS = {"read": (4.9, 1.0), "shell": (4.0, 1.1), "find": (3.6, 0.9)}
"""The mean and the spread of the logarithm of the number of words."""

_ONSETS = tuple(
    str.split("b c d f g h j k l m n p r s t v w x y z br ch cl cr dr fl gr pl pr sh sp st th tr qu")
)
_VOWELS = tuple(str.split("a e i o u ea ai ou ee io"))
_CODAS = ["", "", "", *str.split("b d f g k l m n p r s t x nd ng st rt ck ll ss")]
_ENDINGS = ["", "", "", "", "s", "ing", "er", "ed", "tion", "ly", "able"]


@dataclass(frozen=True, slots=True)
class Sample:
    """The size of the store: conversations, events, and characters of searchable text."""

    conversations: int
    events: int
    characters: int


def vocabulary() -> tuple[list[str], list[float]]:
    """The words, the most frequent first, and the cumulative sums of their weights."""
    chance = random.Random(SEED)
    words: dict[str, None] = dict.fromkeys(_COMMON)
    while len(words) < _VOCABULARY:
        parts = [
            chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)
            for _ in range(chance.randint(1, 3))
        ]
        word = "".join(parts) + chance.choice(_ENDINGS)
        kind = chance.random()
        if kind < 0.12:
            # As in code: joined from two words, with a number now and then.
            word = chance.choice(_COMMON) + "_" + word
        elif kind < 0.15:
            word = f"{word}{chance.randint(0, 999)}"
        words[word] = None
    return list(words), list(accumulate(1 / (rank + 3) for rank in range(_VOCABULARY)))


async def make_store(directory: Path, events: int) -> Iterator[Sample]:
    """Fill a new store in `directory` with about `events` events; yield the size so far, from time to time.

    Raises:
        StoreError: it cannot be written.
    """
    async with await Store.open(directory) as store:
        path = store.database.path
    return _fill(path, events)


def _fill(path: Path, wanted: int) -> Iterator[Sample]:
    chance = random.Random(SEED)
    writer = Writer(chance, *vocabulary())
    connection = sqlite3.connect(path, isolation_level=None)
    count = characters = number = 0
    try:
        connection.execute("PRAGMA synchronous = OFF")
        while count < wanted:
            connection.execute("BEGIN")
            for _ in range(200):
                if count >= wanted:
                    break
                made = list(writer.conversation(_START + number * 1500.0))
                made = made[: wanted - count]
                characters += _store(connection, number, made, writer)
                count += len(made)
                number += 1
            connection.execute("COMMIT")
            yield Sample(number, count, characters)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _store(
    connection: sqlite3.Connection, number: int, made: list[tuple[Event, int]], writer: "Writer"
) -> int:
    id = f"{number:016x}"
    events = [event for event, _ in made]
    first = events[0]
    title = title_of(first["content"]) if first["type"] == "user" else ""
    turns = sum(event["type"] == "user" for event in events)
    conversation = StoredConversation(
        *(id, f"/home/me/project{number % _PROJECTS}", title, "xml", "openai", "gpt"),
        *(first["timestamp"], events[-1]["timestamp"], turns, 1000 * len(events), 0.01 * turns, None),
    )
    insert(conversation, connection)
    connection.executemany(
        "INSERT INTO events (conversation_id, type, timestamp, unit, body) VALUES (?, ?, ?, ?, ?)",
        [(id, each["type"], each["timestamp"], each.get("id"), encode(each)) for each in events],
    )
    return sum(length for _, length in made)


class Writer:
    def __init__(self, chance: random.Random, words: list[str], weights: list[float]) -> None:
        self._chance = chance
        self._words = words
        self._weights = weights

    def conversation(self, begun: float) -> Iterator[tuple[Event, int]]:
        """Events, each with its number of searchable characters."""
        chance, at = self._chance, begun
        length = max(2, round(chance.lognormvariate(3.55, 0.85)))
        number = 0
        while number < length:
            prompt = self._text(3.2, 0.9)
            yield {"type": "user", "timestamp": at, "content": prompt}, len(prompt)
            for _ in range(chance.randint(1, 5)):
                number += 4
                at += chance.uniform(1, 30)
                thought = self._text(3.1, 0.8)
                yield {"type": "think", "timestamp": at, "id": f"t{number}", "content": thought}, len(thought)
                yield from self._call(at, number)
            number += 1
            answer = self._text(4.0, 0.9)
            yield {"type": "respond", "timestamp": at, "id": f"r{number}", "content": answer}, len(answer)

    def _call(self, at: float, number: int) -> Iterator[tuple[Event, int]]:
        chance = self._chance
        tool = chance.choices(("read", "edit", "shell", "find", "write"), (8, 4, 4, 3, 1))[0]
        file = f"src/{chance.choice(self._words[:2000])}/{chance.choice(self._words[:9000])}.py"
        said = {
            "read": (0, 0),
            "edit": (3.8, 0.8),
            "shell": (2.0, 0.6),
            "find": (0.7, 0.2),
            "write": (5.0, 0.8),
        }[tool]
        text = self._text(*said) if said[0] else ""
        args = {"file": file, "content": text} if text else {"file": file}
        call = json.dumps({"name": tool, "args": args})
        yield {"type": "call", "timestamp": at, "id": f"c{number}", "content": call}, len(file) + len(text)
        output = self._text(
            *{"read": (4.9, 1.0), "shell": (4.0, 1.1), "find": (3.6, 0.9)}.get(tool, (1.2, 0.3))
        )
        failed = chance.random() < 0.06
        yield (
            {
                "type": "result",
                "timestamp": at + 0.1,
                "id": f"c{number}",
                "tool": tool,
                "duration": 0.1,
                "payload": {
                    "outcome": f"{tool} done",
                    "content": output,
                    "error": failed,
                    "state": "failed" if failed else "done",
                },
            },
            len(output),
        )

    def _text(self, mean: float, spread: float) -> str:
        """Lines of words whose number has a logarithm of this mean and spread."""
        chance = self._chance
        count = min(6000, max(1, round(chance.lognormvariate(mean, spread))))
        words = chance.choices(self._words, cum_weights=self._weights, k=count)
        return "\n".join(" ".join(words[at : at + 12]) for at in range(0, count, 12))
