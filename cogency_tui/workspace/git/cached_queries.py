"""Answers of git about one command: each question is asked once, within bounds on their number and time."""

import math
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cogency_tui.workspace.git.repository_queries import HALF_WAY, PLACES, Repository


@dataclass(slots=True)
class QueryCache:
    """Git's answers about one command, and the bounds on their number and time."""

    given: dict[object, bytes | None] = field(default_factory=dict[object, bytes | None])
    names: dict[tuple[Path, str], str] = field(default_factory=dict[tuple[Path, str], str])
    questions: float = 40
    seconds: float = 10.0

    @classmethod
    def unlimited(cls) -> "QueryCache":
        return cls(questions=math.inf, seconds=math.inf)


class CachedRepository(Repository):
    """A repository at one moment: git is asked nothing twice, and nothing once `answers`, which the
    repositories of one command share, are used up."""

    def __init__(self, directory: Path, answers: QueryCache) -> None:
        super().__init__(directory)
        self._answers = answers

    def prefetch(self, words: Iterable[str]) -> None:
        """Ask at once what these words name, and all that `commits` and `half_way` ask for."""
        self.named((*PLACES, *HALF_WAY, *words))

    def _looked_up(self, words: Sequence[str]) -> list[str] | None:
        names = self._answers.names
        pending = [each for each in dict.fromkeys(words) if (self.directory, each) not in names]
        found = super()._object_names(pending) if pending else []
        if found is None or len(found) != len(pending):
            return None
        names |= {(self.directory, word): name for word, name in zip(pending, found, strict=True)}
        return [names[self.directory, each] for each in words]

    def _run(
        self,
        arguments: Sequence[str],
        settings: Sequence[str] = (),
        also: Collection[int] = (),
        *,
        literal: bool = False,
        stdin: bytes = b"",
        target: BinaryIO | None = None,
    ) -> bytes | None:
        if target is not None:
            return super()._run(arguments, settings, also, literal=literal, stdin=stdin, target=target)
        answers = self._answers
        key = (self.directory, tuple(arguments), tuple(settings), tuple(also), literal, stdin)
        if key not in answers.given and answers.questions > 0 and answers.seconds > 0:
            began = time.monotonic()
            found = super()._run(arguments, settings, also, literal=literal, stdin=stdin)
            answers.given[key] = found
            answers.questions -= 1
            answers.seconds -= time.monotonic() - began
        return answers.given.get(key)
