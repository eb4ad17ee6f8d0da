"""The details of one agent: its prompt, its messages, its cost, or its files.

Each is read when it is shown, and again when the agent has progressed.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from time import time
from typing import ClassVar, Literal, get_args

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from cogency_tui.agent.subagent_tree import AgentFile, AgentNode, SubagentTree
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.store.store import Store
from cogency_tui.tui.conversation.activity_line import live_units
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.cell_text import cells, fit_path
from cogency_tui.tui.kit.lazy_text_layout import Fixed
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import counted, plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.kit.tab_bar import TabBar
from cogency_tui.tui.review.hunk_states import KIND_LETTERS
from cogency_tui.tui.subagents.cost_lines import draw_agent_cost
from cogency_tui.tui.subagents.keys import COST_KEYS, FILES_KEYS, MESSAGES_KEYS, PROMPT_KEYS
from cogency_tui.tui.subagents.stored_transcript import StoredTranscript
from cogency_tui.tui.subagents.tree import time_of_agent
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.timeline.lines_pane import BlockPane
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView, describe_exchange
from cogency_tui.tui.transcript.call_unit import State
from cogency_tui.tui.transcript.document import prepare
from cogency_tui.tui.transcript.units import Transcript

Detail = Literal["prompt", "messages", "cost", "files"]
DETAILS: tuple[Detail, ...] = get_args(Detail)

_QUEUED = "Waiting to start."
_NEVER_BEGAN = "It did not start."
_NOT_ASKED = "No request was sent yet."
_NO_FILES = "No files changed by this agent itself."


class PromptView(ExchangeView, inherit_bindings=False):
    """The messages of the first request, as they were sent."""

    BINDING_GROUP_TITLE = "Prompt"

    BINDINGS: ClassVar[list[BindingType]] = PROMPT_KEYS


class AgentMessages(Conversation, inherit_bindings=False):
    """The agent's conversation, as it is stored. It can be read and copied, not continued."""

    BINDING_GROUP_TITLE = "Messages"

    BINDINGS: ClassVar[list[BindingType]] = MESSAGES_KEYS


class CostPane(BlockPane, inherit_bindings=False):
    """The cost of the agent."""

    BINDING_GROUP_TITLE = "Cost"

    BINDINGS: ClassVar[list[BindingType]] = COST_KEYS


class AgentFiles(SelectList[AgentFile]):
    """The files that the agent changed."""

    BINDING_GROUP_TITLE = "Files"

    BINDINGS: ClassVar[list[BindingType]] = [*FILES_KEYS, *list_keys("agents.files")]

    class ReviewRequested(Message):
        """The user asks for the changes made by the call with this id."""

        def __init__(self, call: str) -> None:
            self.call = call
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(draw_agent_file, lambda file: file.path, focusable=True, id=id)

    @property
    def is_lit(self) -> bool:
        return self.has_focus

    def action_review(self) -> None:
        if self.row is not None:
            self.post_message(self.ReviewRequested(self.row.call))


def draw_agent_file(file: AgentFile, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list."""
    counts = counted(file.added, file.removed)
    room = max(4, width - 2 - cells(counts) - (2 if counts else 0))
    path = fit_path(one_line(file.path), room)
    space = " " * (width - 2 - cells(path) - cells(counts))
    return Line(
        [
            Segment(f"{KIND_LETTERS[file.kind]} ", styles("dim", on)),
            Segment(path, styles("text", on)),
            Segment(space + counts, styles("dim", on)),
        ]
    )


class AgentDetails(Surface):
    """Shows one detail of an agent of `tree` at a time; `failed` receives errors.

    `review_key` returns the name of the key for the review, or None where it cannot be opened. Files in the
    directory `project` are named relative to it.
    """

    def __init__(
        self,
        tree: SubagentTree,
        store: Callable[[], Awaitable[Store]],
        failed: Callable[[CogencyError], None],
        review_key: Callable[[], str | None],
        *,
        project: str,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._tree = tree
        self._store = store
        self._failed = failed
        self._project = project
        self._clock = clock
        self._state: State = "queued"
        self._title = PaneTitle("", id="agents-name")
        self._tabs = TabBar(DETAILS, id="agents-tabs")
        self._prompt = PromptView(id="agents-prompt")
        self._messages = AgentMessages(
            self._welcome, review_key=review_key, clock=clock, id="agents-messages"
        )
        self._cost = CostPane(id="agents-cost")
        self._files = AgentFiles(id="agents-files")
        self._transcripts: dict[str, StoredTranscript] = {}
        self._shown: Detail = "messages"
        self._node: AgentNode | None = None

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._tabs
        yield from self._views.values()

    def on_mount(self) -> None:
        self._files.notice = _NO_FILES
        self.turn(self._shown)

    @property
    def _views(self) -> dict[Detail, Widget]:
        return {
            "prompt": self._prompt,
            "messages": self._messages,
            "cost": self._cost,
            "files": self._files,
        }

    @property
    def shown(self) -> Detail:
        """The detail that is shown."""
        return self._shown

    @property
    def target(self) -> Widget:
        """The widget that the shown detail gives the focus to."""
        return self._views[self._shown]

    def turn(self, detail: Detail) -> None:
        """Show another detail."""
        self._shown = detail
        for each, view in self._views.items():
            view.display = each == detail
        self._tabs.show(detail, "")
        self._read()

    def light(self) -> None:
        """Show whether it has the focus."""
        focused = self.screen.focused is self.target
        self._title.light(focused)
        self._tabs.light(focused)

    def show_agent(self, node: AgentNode, state: State) -> None:
        """Show an agent in this state, or what has become of the one that is shown."""
        other = self._node is None or self._node.key != node.key
        self._node, self._state = node, state
        self._describe()
        if other:
            self._show_messages(Transcript())
        self._read()

    def on_select_list_selected(self, event: SelectList.Selected) -> None:
        event.stop()

    def on_select_list_chosen(self, event: SelectList.Chosen) -> None:
        event.stop()
        if event.again:
            self._files.action_review()

    def tick(self, frame: int, state: State) -> None:
        """Advance running times, and show the present state of the agent."""
        self._state = state
        self._describe()
        self._messages.tick(frame, live_units(self._messages.transcript))

    def reflow(self) -> None:
        """Draw the messages in other colors."""
        self._messages.reflow()

    def _describe(self) -> None:
        if (node := self._node) is None:
            return
        facts = ("" if self._state == "done" else self._state, time_of_agent(node, self._clock()), node.model)
        self._title.rename(one_line(node.name))
        self._title.state(" · ".join(one_line(fact) for fact in facts if fact))

    def _welcome(self, width: int) -> list[Line]:
        if self._node is None or self._node.id:
            return []
        text = reveal(self._node.outcome) or _absence(self._node)
        return wrap([Segment(text, self._messages.theme_styles("dim"))], width)

    def _show_messages(self, transcript: Transcript) -> None:
        self._messages.show(transcript)
        self._messages.reflow()

    def _read(self) -> None:
        if (node := self._node) is None:
            return
        work = {
            "prompt": self._read_prompt,
            "messages": self._read_messages,
            "cost": self._draw_cost,
            "files": self._show_files,
        }
        self.run_worker(partial(self._work, work[self._shown], node), group="agents-detail", exclusive=True)

    async def _work(self, work: Callable[[AgentNode], Awaitable[None]], node: AgentNode) -> None:
        try:
            await work(node)
        except CogencyError as exc:
            self._failed(exc)

    async def _read_prompt(self, node: AgentNode) -> None:
        exchange = await self._tree.prompt(node.id) if node.id else None
        self._prompt.show(exchange)
        unsent = _NOT_ASKED if node.id else _absence(node)
        self._tabs.show("prompt", describe_exchange(exchange) if exchange else unsent)

    async def _read_messages(self, node: AgentNode) -> None:
        if not node.id:
            self._show_messages(Transcript())
            self._tabs.show("messages", "")
            return
        read = self._transcripts.setdefault(node.id, StoredTranscript(node.id, self._project))
        await prepare()
        failure = node.outcome if node.state == "failed" else ""
        await read.read(await self._store(), running=node.running, failure=failure)
        if self._messages.transcript is read.transcript:
            self._messages.update_units(read.touched)
        else:
            self._show_messages(read.transcript)
        read.touched = set()
        self._tabs.show("messages", plural(len(read.transcript.calls), "call"))

    async def _draw_cost(self, node: AgentNode) -> None:
        self._cost.show(lambda width, styles: Fixed(draw_agent_cost(node, width, styles)), retain=True)
        self._tabs.show("cost", plural(len(node.measures), "request"))

    async def _show_files(self, node: AgentNode) -> None:
        self._files.rows = node.files
        self._files.restore(self._files.key, self._files.selected)
        self._tabs.show("files", plural(len(node.files), "file") if node.files else "")


def _absence(node: AgentNode) -> str:
    """What there is to say of an agent that has no conversation."""
    return _QUEUED if node.state == "queued" else _NEVER_BEGAN
