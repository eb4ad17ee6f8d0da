"""`/worktree`: a conversation in a git worktree of its own, from the beginning to the removal."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.worktrees import Losses, Occupant, State
from cogency_tui.config.schema import Settings
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.main.open_conversations import open_conversations_of
from cogency_tui.tui.switcher.screen import SwitcherScreen
from cogency_tui.tui.worktree.commands import describe_loss, describe_state
from cogency_tui.workspace.git.worktrees import Unmerged
from tests.agent.repositories import git
from tests.agent.test_turns import block, turn
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    finished,
    header_of,
    main_of,
    opened,
    prompt_of,
    seen,
    send,
    shown,
    told,
    until,
)
from tests.tui.review.stage import edit

LINES = "".join(f"line_{number} = {number}\n" for number in range(1, 41))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a commit."""
    project = tmp_path / "shop"
    project.mkdir()
    (project / "app.py").write_text(LINES)
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    return project


def agent_over(shop: Path, *replies: str) -> Agent:
    return Agent(
        ScriptedProvider(*replies, size=10_000),
        project=shop,
        data=shop.parent / "data",
        permissions="auto",
        settings=Settings(titles=False),
    )


async def in_worktree(pilot: Pilot[Any], name: str) -> None:
    await until(pilot, lambda: main_of(pilot).agent.worktree == name)
    await opened(pilot)
    main_of(pilot).agent.permissions = "auto"


async def test_a_conversation_begins_in_a_worktree_is_merged_and_removed(shop: Path) -> None:
    agent = agent_over(shop, edit("app.py", "line_3 = 3", "line_3 = 0"), "Done.")
    (shop / "mine.py").write_text("not committed\n")
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        await until(
            pilot,
            lambda: (
                told(pilot)
                == "Worktree parser: branch cogency/parser from main. 1 uncommitted file of shop is not in it."
            ),
        )
        assert len(open_conversations_of(pilot.app.screen).screens) == 1
        assert "shop" in shown(header_of(pilot))
        assert "⎇ parser" in shown(header_of(pilot))
        await send(pilot, "fix parser")
        root = main_of(pilot).agent.project
        await until(pilot, lambda: "line_3 = 0" in (root / "app.py").read_text())
        await until(pilot, lambda: main_of(pilot).state == "idle" and not main_of(pilot).bridge.working)
        assert (shop / "app.py").read_text() == LINES
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(pilot.app.screen, SwitcherScreen))
        await until(pilot, lambda: "fix parser ⎇ parser" in seen(pilot))
        await pilot.press("escape")
        await send(pilot, "/worktree merge")
        await until(
            pilot, lambda: told(pilot).startswith("Merged into main: 1 file changed. The uncommitted")
        )
        assert "line_3 = 0" in (shop / "app.py").read_text()
        await until(pilot, lambda: not header_of(pilot).place.dirty)
        (root / "more.py").write_text("left\n")
        await send(pilot, "/worktree remove")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "1 uncommitted file: more.py" in seen(pilot))
        await pilot.press("y")
        await until(pilot, lambda: told(pilot).startswith("Removed worktree parser."))
        assert not root.exists()
        assert main_of(pilot).agent.project == shop
    await agent.close()


@pytest.mark.parametrize("agrees", [True, False])
async def test_committed_conflict_markers_are_named_and_merged_only_if_the_user_agrees(
    shop: Path, agrees: bool
) -> None:
    marked = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n"
    async with app_over(agent_over(shop)).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        root = main_of(pilot).agent.project
        (root / "new.py").write_text(marked)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "resolved?")
        await send(pilot, "/worktree merge")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "Merge worktree parser with conflict markers" in seen(pilot))
        assert "  new.py" in seen(pilot)
        assert not (shop / "new.py").exists()
        await pilot.press("y" if agrees else "n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        if agrees:
            await until(pilot, lambda: "Merged into main: 1 file changed." in told(pilot))
        assert (shop / "new.py").exists() == agrees


async def test_a_worktree_is_entered_again_shows_its_state_and_is_removed_by_name(shop: Path) -> None:
    from cogency_tui.agent.worktrees import Worktrees

    agent = agent_over(shop)
    async with agent:
        root = (await Worktrees(agent).make("parser")).root
        (root / "more.py").write_text("left\n")
    again = agent_over(shop, "Hello.")
    async with app_over(again).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "hi")
        await until(pilot, lambda: main_of(pilot).state == "idle" and not main_of(pilot).bridge.working)
        await send(pilot, "/worktree remove nobody")
        await until(pilot, lambda: told(pilot) == "There is no worktree nobody. There are: parser.")
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        await until(pilot, lambda: told(pilot) == "Another conversation in worktree parser.")
        await send(pilot, "/worktree")
        state = "Worktree parser: branch cogency/parser from main. 1 uncommitted file: more.py."
        await until(pilot, lambda: told(pilot).startswith(state))
        await send(pilot, "/worktree remove parser")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: told(pilot).startswith("Removed worktree parser."))
        assert not root.exists()
    await again.close()


async def test_a_past_conversation_opens_in_its_worktree_or_says_that_it_is_gone(shop: Path) -> None:
    from cogency_tui.agent.worktrees import Worktrees

    agent = agent_over(shop)
    async with agent:
        made = await Worktrees(agent).make("parser")
        inside = agent.beside_in(made.root)
        inside.provider = ScriptedProvider("Done.", size=10_000)
        await turn(inside, "fix parser", conversation_id="c")
    again = agent_over(shop)
    async with app_over(again, conversation_id="c").run_test(size=(120, 40), notifications=True) as pilot:
        await in_worktree(pilot, "parser")
        await until(pilot, lambda: "fix parser" in seen(pilot))
        assert len(open_conversations_of(pilot.app.screen).screens) == 1
    async with again:
        await Worktrees(again).remove(made.root)
    gone = agent_over(shop)
    async with app_over(gone, conversation_id="c").run_test(size=(120, 40), notifications=True) as pilot:
        await until(
            pilot,
            lambda: told(pilot) == "Worktree parser was removed. This conversation continues in shop.",
        )
        assert main_of(pilot).agent.project == shop
    await gone.close()


@pytest.mark.parametrize(
    ("argument", "advice"),
    [
        ("merge", "/worktree NAME begins one in it."),
        ("remove", "/worktree remove NAME removes one."),
    ],
)
async def test_without_a_worktree_there_is_nothing_to_merge_or_remove(
    shop: Path, argument: str, advice: str
) -> None:
    async with app_over(agent_over(shop)).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, f"/worktree {argument}")
        await until(pilot, lambda: told(pilot).endswith(f"This conversation is not in a worktree. {advice}"))


async def test_merge_with_the_name_of_another_worktree_says_that_it_takes_none(shop: Path) -> None:
    agent = agent_over(shop)
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree merge parser")
        await until(pilot, lambda: told(pilot).startswith("/worktree merge takes no name: it merges"))
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        (main_of(pilot).agent.project / "new.py").write_text("new\n")
        await send(pilot, "/worktree merge parser")
        await until(pilot, lambda: told(pilot).startswith("Merged into main: 1 file changed."))
    await agent.close()


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("remove", "This conversation is not in a worktree. This project is not in a git repository."),
        ("merge", "This conversation is not in a worktree. This project is not in a git repository."),
        ("list", "There are no worktrees. This project is not in a git repository."),
    ],
)
async def test_without_a_repository_no_worktree_is_offered(project: Path, argument: str, text: str) -> None:
    async with app_over(agent_over(project)).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, f"/worktree {argument}")
        await until(pilot, lambda: told(pilot) == text)


async def test_a_name_that_cannot_be_used_is_reported(shop: Path) -> None:
    async with app_over(agent_over(shop)).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree ../x")
        await until(pilot, lambda: told(pilot).startswith("A worktree cannot be named “../x”."))


def test_the_state_names_unresolved_conflicts() -> None:
    state = State("x", "main", Unmerged(["a.py"], 0), ["a.py"], "merge")
    assert describe_state(state) == (
        "Worktree x: branch cogency/x from main. 1 uncommitted file: a.py. a.py has unresolved conflicts. "
        "A merge is in progress. Have the agent finish it first."
    )


def test_what_would_be_lost_is_named() -> None:
    there = (Occupant("fix parser", works=True), Occupant("", works=False, pid=12))
    assert describe_loss("x", Losses(Unmerged(["a.py"], 2), ("npm start",), there)) == (
        "Remove worktree x and its branch? This would be lost or stopped:\n\n"
        "  1 uncommitted file: a.py\n"
        "  2 commits of cogency/x that are not merged\n"
        "  “fix parser” is working in it\n"
        "  running in the background: npm start\n\n"
        "“New conversation” is open in it, in process 12. It cannot go on there."
    )
    ignored = Losses(Unmerged([], 0, ["secret.env"], ["node_modules/"]))
    assert describe_loss("x", ignored) == (
        "Remove worktree x and its branch? This would be lost or stopped:\n\n"
        "  1 ignored path: secret.env\n"
        "  caches: node_modules/"
    )
    caches = "Remove worktree x and its branch? Everything in it is merged, but for caches: node_modules/."
    assert describe_loss("x", Losses(Unmerged([], 0, [], ["node_modules/"]))) == caches
    nothing = "Remove worktree x and its branch? Everything in it is merged."
    assert describe_loss("x", Losses(Unmerged([], 0))) == nothing


async def test_what_is_made_before_the_answer_is_asked_about(shop: Path) -> None:
    agent = agent_over(shop, "Hello.")
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        root = main_of(pilot).agent.project
        await send(pilot, "/worktree remove")
        await until(pilot, lambda: "Everything in it is" in seen(pilot))
        (root / "more.py").write_text("made meanwhile\n")
        await pilot.press("y")
        await until(pilot, lambda: "It has changed since you were asked: more.py." in seen(pilot))
        await until(pilot, lambda: "1 uncommitted file: more.py" in seen(pilot))
        (root / "more.py").write_text("and changed\n")
        first = pilot.app.screen
        await pilot.press("y")
        await until(
            pilot, lambda: isinstance(pilot.app.screen, Confirmation) and pilot.app.screen is not first
        )
        git(root, "add", "-A")
        git(root, "commit", "-qm", "more")
        await pilot.press("y")
        await until(pilot, lambda: "since you were asked: more.py; another" in seen(pilot))
        await until(pilot, lambda: "1 commit of cogency/parser that is not merged" in seen(pilot))
        assert (root / "more.py").read_text() == "and changed\n"
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Confirmation))
        assert main_of(pilot).agent.worktree == "parser"
        await send(pilot, "hi")
        await until(pilot, lambda: "Hello." in seen(pilot))
        await send(pilot, "/worktree remove")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: told(pilot).startswith("Removed worktree parser."))
        assert not root.exists()
    await agent.close()


async def test_a_command_that_writes_there_is_stopped_before_it_is_asked_again(shop: Path) -> None:
    write = "while :; do date +%s%N > log.txt; sleep 0.01; done"
    agent = agent_over(shop, block(("shell", {"command": write, "background": True})), "Done.")
    async with app_over(agent).run_test(size=(140, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        root = main_of(pilot).agent.project
        await send(pilot, "log")
        await until(pilot, lambda: "Done." in seen(pilot) and (root / "log.txt").exists())
        await send(pilot, "/worktree remove")
        await until(pilot, lambda: "running in the background: while :; do date" in seen(pilot))
        before = (root / "log.txt").stat().st_mtime_ns
        await until(pilot, lambda: (root / "log.txt").stat().st_mtime_ns != before)
        await pilot.press("y")
        await until(pilot, lambda: "What ran in it was stopped. It has changed since you" in seen(pilot))
        assert "asked: log.txt." in seen(pilot)
        assert "running in the background" not in seen(pilot)
        await pilot.press("y")
        await until(pilot, lambda: told(pilot).startswith("Removed worktree parser."))
        assert not root.exists()
    await agent.close()


async def test_alone_it_lists_the_worktrees_and_makes_none(shop: Path) -> None:
    from cogency_tui.agent.worktrees import Worktrees

    agent = agent_over(shop)
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree")
        begins = "There are no worktrees yet. /worktree NAME begins a conversation in a new one."
        await until(pilot, lambda: told(pilot) == begins)
        await Worktrees(agent).make("parser")
        await send(pilot, "/worktree list")
        listed = "Worktrees: parser. /worktree NAME begins a conversation in a new one, or in one of these."
        await until(pilot, lambda: told(pilot).endswith(listed))
        assert Worktrees(agent).names() == ["parser"]
        assert len(open_conversations_of(pilot.app.screen).screens) == 1
    await agent.close()


@pytest.mark.parametrize("way", ["/new", "ctrl+n", "/resume"])
async def test_the_user_leaves_a_worktree_that_was_removed_elsewhere(shop: Path, way: str) -> None:
    agent = agent_over(shop, "Hello.", "Hello again.")
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        await send(pilot, "hi")
        await until(pilot, lambda: "Hello." in seen(pilot))
        await finished(pilot)
        removed = main_of(pilot)
        git(shop, "worktree", "remove", "--force", str(removed.agent.project))
        await send(pilot, "go on")
        await until(pilot, lambda: "Worktree parser was removed." in seen(pilot))
        await until(pilot, lambda: "⎇ parser removed" in shown(header_of(pilot)))
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(pilot.app.screen, SwitcherScreen))
        await until(pilot, lambda: "hi ⎇ parser removed" in seen(pilot))
        await pilot.press("escape")
        if way == "ctrl+n":
            await pilot.press(way)
        elif way == "/new":
            await send(pilot, way)
        else:
            await removed.action_command("resume", str(removed.bridge.conversation_id))
        await until(pilot, lambda: main_of(pilot) is not removed and main_of(pilot).agent.project == shop)
        await opened(pilot)
        left = "Worktree parser was removed. This conversation is in shop."
        gone = "Worktree parser was removed. This conversation continues in shop."
        await until(pilot, lambda: (gone if way == "/resume" else left) in told(pilot))
        await until(pilot, lambda: len(open_conversations_of(pilot.app.screen).screens) == 1)
        assert "⎇" not in shown(header_of(pilot))
        await send(pilot, "go on")
        await until(pilot, lambda: "Hello again." in seen(pilot))
        assert ("Hello." in seen(pilot)) == (way == "/resume")
    await agent.close()


async def test_a_conversation_whose_worktree_was_removed_elsewhere_says_what_to_do(shop: Path) -> None:
    agent = agent_over(shop, "Hello.", "Hello again.")
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/worktree parser")
        await in_worktree(pilot, "parser")
        root = main_of(pilot).agent.project
        await send(pilot, "hi")
        await until(pilot, lambda: "Hello." in seen(pilot))
        git(shop, "worktree", "remove", "--force", str(root))
        git(shop, "branch", "-D", "cogency/parser")
        await finished(pilot)
        await send(pilot, "go on")
        what = "/new begins a conversation in shop, /worktree parser one in a new worktree."
        await until(pilot, lambda: "Worktree parser was removed." in seen(pilot) and what in seen(pilot))
        assert prompt_of(pilot).text == "go on"
        assert not root.exists()
        await send(pilot, "/worktree")
        await until(pilot, lambda: told(pilot).endswith(f"Worktree parser was removed. {what}"))
        removed = main_of(pilot)
        await send(pilot, "/worktree parser")
        await until(pilot, lambda: main_of(pilot) is not removed)
        await in_worktree(pilot, "parser")
        await send(pilot, "go on")
        await until(pilot, lambda: "Hello again." in seen(pilot))
        assert (root / "app.py").read_text() == LINES
    await agent.close()
