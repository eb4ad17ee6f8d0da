"""An event in readable form: a call as in the pane of tool calls, any other as texts under their labels."""

from collections.abc import Iterator

from rich.segment import Segment

from cogency_tui.protocol.events import Event
from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock, LazyLayout, Stack
from cogency_tui.tui.kit.lines import BLANK, Line
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_unit import CallUnit

KINDS = {
    "user": "message",
    "think": "thought",
    "respond": "answer",
    "call": "call",
    "result": "result",
    "error": "failure",
}
"""The word for each type of stored event."""


class ProseLayout(LazyLayout):
    """Folds lines at spaces, without marks."""

    HANG = 0


class CallEventLayout(Stack):
    """A call in its state at the time of an event, below its head."""

    def __init__(self, layout: CallLayout) -> None:
        super().__init__([Fixed([Line(layout.head), BLANK]), layout])
        self._layout = layout

    @property
    def loading(self) -> bool:
        """True if part of a long result is missing."""
        return self._layout.loading

    def load(self) -> None:
        """Add a piece of the result."""
        self._layout.load()


def draw_event(event: Event, call: CallUnit | None, width: int, styles: ThemeStyles) -> LayoutBlock:
    """Draw an event, or the `call` that it belongs to, in its state then."""
    if call is not None:
        return CallEventLayout(CallLayout(call, width, styles, event["timestamp"], gradual=True))
    blocks: list[LayoutBlock] = []
    for label, text in _texts_of(event):
        head = Line([Segment(label, styles("text", attributes="bold"))])
        lines = OutputLines()
        lines.write(reveal(text.rstrip("\n")))
        blocks += [Fixed([BLANK, head] if blocks else [head]), ProseLayout(lines, width, styles)]
    return Stack(blocks)


def _texts_of(event: Event) -> Iterator[tuple[str, str]]:
    """The texts of an event that is no call's, each with its label."""
    match event["type"]:
        case "user" if "ran" in event:
            ran = event["ran"]
            yield "You ran", f"$ {ran['command']}"
            yield "Outcome", ran["outcome"]
            yield "Output", ran["output"]
        case "user":
            yield "You", event["content"]
            if "images" in event:
                yield "Images", "\n".join(image_chips(event["images"]))
            if "review" in event:
                yield "Review", event["review"]["text"]
            if "hooks_context" in event:
                yield "Added by hooks", event["hooks_context"]
            if "environment" in event:
                yield "Environment", event["environment"]
        case "think":
            yield "Thought", event["content"]
        case "respond":
            yield "Answer", event["content"]
        case "error":
            payload = event["payload"]
            yield f"Turn failed ({payload.get('failure', 'turn')})", payload["error"]
            if hint := payload.get("hint"):
                yield "Next step", hint
        case _:
            return
