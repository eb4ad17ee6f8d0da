"""The review marks what the user may have changed beside a command in the background, and leaves it."""

import json
from pathlib import Path

from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, agent_of, edit, reviewing, shell

_MINE = LINES.replace("line_30 = 30\n", "line_30 = 'mine'\n")


async def test_a_turn_is_reverted_without_what_the_user_may_have_changed(project: Path) -> None:
    notes = project / "notes.py"
    notes.write_text(LINES)

    def edit_beside() -> str:
        notes.write_text(_MINE)
        return edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n")

    args = {"command": "sleep 600", "background": True}
    start = f"<execute>{json.dumps([{'name': 'shell', 'args': args}])}</execute>"
    agent = agent_of(project, ScriptedProvider(start, edit_beside, shell("true"), "Done.", size=10_000))
    async with reviewing(agent) as reviewer:
        heads = [line for line in shown(reviewer.view).splitlines() if "hunk " in line]
        assert ["possibly yours" in head for head in heads] == [False, True]

        await reviewer.press("T")

        assert notes.read_text() == _MINE
        assert reviewer.states == ("reverted", "new")
        text = "Not reverted, as you may have made the change: notes.py. n on its hunk reverts it."
        assert text in told(reviewer.pilot)
