"""MCP servers: a line for each, and the selected one in full."""

from rich.segment import Segment

from cogency_tui.text import clean, one_line, reveal
from cogency_tui.tools.mcp.server import State
from cogency_tui.tools.mcp.servers import Listed
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import Line, cells, fit, wrap
from cogency_tui.tui.theming import Inks

_NAME = 14
_MARKS = {
    State.IDLE: ("◌", "dim"),
    State.STARTING: ("⠋", "accent"),
    State.READY: ("✓", "good"),
    State.FAILED: ("✗", "bad"),
    State.ENDED: ("■", "edit"),
}
_LATER = {
    State.ENDED: "The next call starts it again.",
    State.STARTING: "Its tools come with the first message after that.",
}
_LAST = 6
"""Lines of what a server wrote that are shown."""


def draw_server(server: Listed, width: int, inks: Inks, on: str) -> Line:
    """One line of the list: its state, its name, what it is, and how many tools it has."""
    mark, role = _MARKS[server.state]
    tools = plural(len(server.tools), "tool") if server.tools else ""
    right = f"{tools or server.state.value:>12}"
    room = max(1, width - 2 - _NAME - 1 - cells(right))
    told = one_line(server.title or server.told)
    shown = fit(told, room)
    return Line(
        [
            Segment(f"{mark} ", inks(role, on)),
            Segment(f"{fit(server.name, _NAME):<{_NAME}} ", inks("text", on)),
            Segment(shown + " " * (room - cells(shown)), inks("dim", on)),
            Segment(right, inks("dim", on)),
        ]
    )


def draw_server_note(server: Listed | None, width: int, inks: Inks) -> list[Line]:
    """How it stands, why, what is started or asked, and what it has to say."""
    if server is None:
        told = "No MCP server is configured. [mcp.NAME] in the configuration has its command or url."
        return wrap([Segment(told, inks("dim"))], width)
    state = f"{server.state.value}: {reveal(server.problem)}" if server.problem else server.state.value
    _mark, role = _MARKS[server.state]
    lines = wrap([Segment(state, inks("text" if server.state is State.READY else role))], width)
    if later := _LATER.get(server.state):
        lines += wrap([Segment(later, inks("dim"))], width)
    lines += wrap([Segment(reveal(server.told), inks("dim"))], width)
    if server.tools:
        lines += wrap([Segment(f"Tools: {', '.join(server.tools)}", inks("text"))], width)
    for left_out in server.left_out:
        lines += wrap([Segment(f"Not used: {reveal(left_out)}", inks("edit"))], width)
    said = server.said.strip().splitlines()[-_LAST:]
    for line in said:
        lines += wrap([Segment(f"│ {reveal(clean(line))}", inks("dim"))], width)
    return lines
