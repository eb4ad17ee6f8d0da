"""The calls within a call: what a sub-agent or a workflow does, read from the lines in which it reports that.

The lines are those of `agent.progress`: `· tool subject` when a call begins, `✓ tool: outcome` or
`✗ tool: outcome` when it has ended, `! problem`.
"""

from typing import Literal

import msgspec

StepState = Literal["running", "done", "failed", "interrupted"]

_STATES: dict[str, StepState] = {"·": "running", "✓": "done", "✗": "failed", "!": "failed"}


class Step(msgspec.Struct):
    """One call within a call. `outcome` is what it came to, in a line."""

    state: StepState
    text: str
    outcome: str = ""


class Steps:
    """Takes the lines in as they come."""

    def __init__(self) -> None:
        self.all: list[Step] = []
        self._begun = ""

    def feed(self, text: str) -> None:
        """Take clean text, which may end within a line."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._take(line)

    def close(self) -> None:
        """Nothing more comes: what has not ended was interrupted."""
        self.feed("\n")
        for step in self.all:
            if step.state == "running":
                step.state = "interrupted"

    def _take(self, line: str) -> None:
        mark, _, text = line.partition(" ")
        state = _STATES.get(mark)
        if state is None:
            return
        tool, _, outcome = text.partition(": ")
        running = (step for step in self.all if step.state == "running" and step.text.split(" ")[0] == tool)
        begun = next(running, None) if mark in "✓✗" else None
        if begun is not None:
            begun.state, begun.outcome = state, outcome
        else:
            self.all.append(Step(state, text))
