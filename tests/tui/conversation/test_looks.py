"""The conversation pane in each of its states, as it looks."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.view import Conversation
from tests.tui.looks import SIZES, check_looks, each_size
from tests.tui.reading import PaneApp, fed
from tests.tui.scripted import call, error, notice, respond, result, think, user

MARKDOWN = """# A title

The retry loop **sleeps before it checks** whether the *gateway* has ~~not~~ answered; `INTERVAL` says how long.

## What I found

- the loop sleeps first
  1. then it checks, see [the docs](https://example.org/retry)
  2. and again
- [ ] add a test
- [x] move the check

```python
for attempt in range(3):
    if gateway.answered():  # 日本語
        return gateway.answer
```

> A quote with `code` in it
> that goes on.

| setting | default | what it does |
|:--|--:|:-:|
| interval | 0.6 s | how long it waits between two attempts, which is too long here |
| attempts | 3 | how often |

---

    indented code

Text with [/] and <b>HTML</b>, ![an image](a.png), 👍🏽 and שלום.[^1]

[^1]: A note."""
UP = "left_square_bracket"
DIFF = "--- a/src/retry.py\n+++ b/src/retry.py\n@@ -1,2 +1,2 @@\n x = 1\n-sleep()\n+check()\n"
TURN: list[Event] = [
    user("why is the checkout test flaky? fix it", at=0),
    think("hm, the loop\nsleeps first", at=1),
    call("a", "read", at=3.1, file="src/retry.py"),
    result("a", "read", "Read 41 lines", "x = 1\n", at=3.2),
    call("b", "edit", at=3.3, file="src/retry.py", old="sleep()", new="check()"),
    result("b", "edit", "Edited src/retry.py", DIFF, at=3.4),
    call("c", "shell", at=3.5, command="pytest -x"),
    result("c", "shell", "exit 1 after 2 s", "FAILED tests/test_x.py\n", error=True, at=3.6),
    notice("The session is gone: this turn is replayed."),
    respond("It sleeps *before* it checks.\n\n```py\ncheck()\nsleep()\n```\n\nMoved.", at=5),
    error("The provider closed the connection.", "Ask again."),
]


async def looks(
    name: str,
    events: Sequence[Event],
    *keys: str,
    size: tuple[int, int] | None = None,
    live: bool = True,
) -> None:
    async def press(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.02)
        await cast("Any", pilot.app.workers).wait_for_complete()

    sizes = [size] if size else SIZES
    await check_looks(f"conversation-{name}", lambda: PaneApp(fed(events)), press, sizes=sizes, live=live)


async def test_a_turn() -> None:
    await looks("turn", TURN)


@pytest.mark.exhaustive
@each_size
async def test_all_of_markdown(width: int, height: int) -> None:
    await looks("markdown", [respond(MARKDOWN)], "home", size=(width, height), live=False)


async def test_the_rest_of_markdown() -> None:
    await looks("markdown-end", [respond(MARKDOWN)])


@pytest.mark.exhaustive
@each_size
async def test_what_is_folded_opened(width: int, height: int) -> None:
    keys = ("enter", UP, "enter", UP, "enter", "home")
    await looks("opened", TURN[:6], *keys, size=(width, height))


@pytest.mark.exhaustive
@each_size
async def test_a_selection_of_lines(width: int, height: int) -> None:
    keys = (*[UP] * 4, "v", "shift+up", "shift+up")
    await looks("selected", [respond(MARKDOWN)], *keys, size=(width, height), live=False)


@pytest.mark.exhaustive
@each_size
async def test_finds(width: int, height: int) -> None:
    events = [*TURN, respond(MARKDOWN, "r9")]
    await looks("finds", events, "slash", *"sleeps", "up", size=(width, height), live=False)


@pytest.mark.exhaustive
async def test_nothing_found() -> None:
    await looks("nothing-found", TURN, "slash", *"zebra")


async def test_without_the_focus() -> None:
    async def leave(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        pilot.app.query_one(Conversation).screen.set_focus(None)

    await check_looks("conversation-unfocused", lambda: PaneApp(fed(TURN)), leave)


async def test_an_interrupted_answer() -> None:
    events: list[Event] = [user("go on", at=0), think("half a tho", at=1, interrupted=True)]
    await looks("interrupted", events)
