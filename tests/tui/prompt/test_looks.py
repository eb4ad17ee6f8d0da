"""How the prompt and the questions look in every state."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import pytest
from textual import events
from textual.app import ComposeResult
from textual.layout import Layout
from textual.pilot import Pilot
from textual.screen import Screen

from cogency_tui.agent.permissions.gate import Question, Round
from cogency_tui.store.prompt_text import Written
from cogency_tui.tools.loss import Loss, LostPath
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.message_queue import MessageQueue
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.prompt.path_search import Paths
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.questions.panel import Hands, QuestionPanel
from cogency_tui.workspace.diff import LineCounts
from tests.tui.driving import until
from tests.tui.look_series import check_series_in_each_size
from tests.tui.looks import check_looks
from tests.tui.stand import Stand

pytestmark = pytest.mark.usefixtures("short_pause")

PATHS = Paths(
    [
        *["src/", "src/api/", "src/api/views.py", "src/checkout/", "src/checkout/cart.py"],
        *["src/checkout/retry.py", "README.md", "tests/", "tests/test_retry.py", "docs/a file.md"],
        *["src/" + "very_long_directory/" * 8 + "retry_policy.py", "src/checkout/漢字_retry.py"],
        *[f"src/api/resource_{number}.py" for number in range(12)],
    ]
)
DIFF = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1,3 +1,3 @@\n import os\n-x = 1\n+x = 2\x1b[2J\n y = 3\n"
COMMAND = Question(
    *("c", "shell", "command", "Run pytest", "pytest -x tests/checkout && echo \u202e done\x1b[2J"),
    "it runs a command",
    "this exact command",
    "pytest -x",
    asker="the sub-agent reviewer",
    round=lambda: Round(1, 3),
)
EDIT = Question(
    *("c", "edit", "write", "Edit src/app.py", DIFF + "+more\n" * 60, ""),
    "all changes to files in the project",
    "src/a directory with a long name/that a rule is for/**",
    "all changes to files in the project",
    counts=LineCounts(61, 1),
    round=lambda: Round(2, 5),
)
LOSS = Question(
    *("c", "shell", "command", "Run rm", "rm -rf docs tests", ""),
    losses=(Loss("directory", (LostPath("docs", 7), LostPath("tests", 5))),),
)
Prepare = Callable[[Pilot[Any]], Awaitable[None]]


class _SharedScreen(Screen[None]):
    """A screen that leaves its pane a row, as the main screen does."""

    def pre_layout(self, layout: Layout) -> None:
        del layout
        for box in self.query(PromptBox):
            box.fit(self.size.height - 1)


class BoxStand(Stand):
    """The prompt's box below an empty pane."""

    CSS: ClassVar[str] = "#pane { height: 1fr; background: $surface; margin: 0 1; }"

    def __init__(self, *queued: str) -> None:
        super().__init__(Surface(id="pane"))
        self.queue = MessageQueue(lambda: None)
        self.queue.in_turn = True
        for text in queued:
            self.queue.add(Written(text))

    def get_default_screen(self) -> Screen[None]:
        return _SharedScreen()

    def compose(self) -> ComposeResult:
        yield self._widget
        yield PromptBox(self.queue, id="prompt-box")

    def on_resize(self, event: events.Resize) -> None:
        self.screen_stack[0].set_class(event.size.height < 24, "-short")

    async def on_mount(self) -> None:
        await self.query_one(PromptBox).fill()
        self.query_one(PromptBox).show_queue()
        self.query_one(Prompt).focus()

    def on_completion_requested(self) -> None:
        self.query_one(Completion).use(PATHS)


def typing(*keys: str) -> Prepare:
    async def prepare(pilot: Pilot[Any]) -> None:
        await pilot.press(*("space" if key == " " else key for key in keys))
        await pilot.pause()
        pilot.app.query_one(PromptBox).show_queue()

    return prepare


async def test_files_are_offered() -> None:
    await check_looks("prompt-files", BoxStand, typing(*"see @retry", "down"))


async def test_the_top_of_the_project_is_offered() -> None:
    await check_looks("prompt-files-top", BoxStand, typing("@"))


async def test_no_file_is_found() -> None:
    await check_looks("prompt-files-none", BoxStand, typing(*"@qqq"))


async def test_what_a_command_takes_is_offered() -> None:
    await check_looks("prompt-arguments", BoxStand, typing(*"/permissions "))


@pytest.mark.exhaustive
async def test_messages_wait() -> None:
    queued = ("first", "!pytest -x tests", "a long one " * 20, "[/] 漢字 [b]x", "fifth")
    await check_looks("prompt-queue", lambda: BoxStand(*queued), typing())
    await check_looks("prompt-queue-edited", lambda: BoxStand(*queued), typing(*"draft", "up", "up"))


async def test_a_command_of_the_shell() -> None:
    await check_looks("prompt-command", BoxStand, typing(*"!ls"))


async def test_a_big_paste_and_several_lines() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await typing(*"why", "ctrl+j")(pilot)
        pilot.app.post_message(events.Paste("line\n" * 240))
        await until(pilot, lambda: "pasted" in pilot.app.query_one(Prompt).text)
        await pilot.press("x")

    await check_looks("prompt-chip", BoxStand, prepare)


@pytest.mark.exhaustive
async def test_a_long_text_takes_a_third_of_the_screen() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        pilot.app.query_one(Prompt).put(Written("\n".join(f"line {number}" for number in range(40))))
        await pilot.pause()

    await check_series_in_each_size(BoxStand, ("prompt-long", prepare))


def asking(question: Question, *, deaf: bool, keys: Sequence[str] = ()) -> Prepare:
    now = [100.0]

    async def prepare(pilot: Pilot[Any]) -> None:
        now[0] = 100.0
        screen = pilot.app.screen
        # A later resize would begin the question's pause again.
        await until(pilot, lambda: screen.size == pilot.app.size)
        for old in screen.query(QuestionPanel):
            old.display = False
            await pilot.pause()
            await old.remove()
        panel = QuestionPanel(question, Hands(lambda _answer: None), clock=lambda: now[0])
        await screen.mount(panel, before="#prompt-box")
        screen.set_focus(panel)
        await until(pilot, lambda: panel.query_one(Answers).size)
        if not deaf:
            now[0] += 1
            await until(pilot, lambda: not panel.query_one(Answers).deaf)
        # The answers may have taken another height: a page is scrolled in the window that follows.
        await pilot.pause()
        await pilot.press(*keys)

    return prepare


# A question whose window has changed takes no answer for a moment, and is scrolled elsewhere.


@pytest.mark.exhaustive
async def test_a_command_and_an_edit_are_asked_about_and_a_reason_is_written() -> None:
    await check_series_in_each_size(
        BoxStand,
        ("question-command-deaf", asking(COMMAND, deaf=True)),
        ("question-command", asking(COMMAND, deaf=False)),
        ("question-edit", asking(EDIT, deaf=False)),
        ("question-edit-scrolled", asking(EDIT, deaf=False, keys=["pagedown"])),
        ("question-loss", asking(LOSS, deaf=False)),
        ("question-selected", asking(EDIT, deaf=False, keys=["right", "right"])),
        ("question-reason", asking(EDIT, deaf=False, keys=["r", *"not"])),
    )


async def test_a_confirmation() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await pilot.app.push_screen(Confirmation("The agent is working. Interrupt it and quit?"))

    await check_looks("confirmation", BoxStand, prepare)
