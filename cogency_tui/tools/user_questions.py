"""Questions of the model to the user: one to four at a time, each with choices."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

Answers: TypeAlias = Sequence[Sequence[str]]
"""The answers to each of some questions: labels of choices, or the user's own words."""


class Choice(msgspec.Struct, frozen=True):
    label: Annotated[str, Meta(min_length=1)]
    description: str = ""

    def __post_init__(self) -> None:
        # Each is one line wherever it is shown.
        msgspec.structs.force_setattr(self, "label", " ".join(self.label.split()))
        msgspec.structs.force_setattr(self, "description", " ".join(self.description.split()))


class UserQuestion(msgspec.Struct, frozen=True):
    """`several`: more than one may be chosen."""

    question: Annotated[str, Meta(min_length=1)]
    choices: Annotated[list[Choice], Meta(min_length=2, max_length=6)]
    header: str = ""
    several: bool = False

    @property
    def name(self) -> str:
        """The header, or the question where there is none."""
        return self.header or self.question
