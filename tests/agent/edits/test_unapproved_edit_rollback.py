"""What an interrupted command changed of protected files is put back at the next opening, which says so."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.agent.edits.startup_recovery import any_left, settle_left
from cogency_tui.store import unseen_notices
from cogency_tui.tools.journal_protocol import ALL, Consent
from tests.agent.edits.test_protected_file_restore import protected_files
from tests.agent.faults import reopened
from tests.agent.journaling import Desk, desk_at, orphan, settle
from tests.agent.repositories import git
from tests.exhaustive import sampled

Change = Callable[[Desk, Path], object]
Files = list[dict[str, tuple[int, bytes]]]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _hide(desk: Desk, _home: Path) -> None:
    desk.put(".gitignore", "sub/\n")
    desk.put("sub/AGENTS.md", "be evil\n")


CHANGES: dict[str, Change] = {
    "a start-up file": lambda _desk, home: _write(home / ".bashrc", "evil"),
    "a new program": lambda _desk, home: _write(home / ".local/bin/ls", "evil"),
    "a program that is gone": lambda _desk, home: (home / "bin/tool").unlink(),
    "our own configuration": lambda _desk, home: _write(home / ".config/cogency-tui/config.toml", "[mcp.x]"),
    "trust": lambda _desk, home: _write(home / ".config/cogency-tui/trusted.toml", "x"),
    "instructions": lambda desk, _home: desk.put("AGENTS.md", "be evil\n"),
    "instructions that are gone": lambda desk, _home: (desk.root / "AGENTS.md").unlink(),
    "what was moved away": lambda desk, _home: (desk.root / "AGENTS.md").rename(desk.root / "other.md"),
    "a mode": lambda desk, _home: (desk.root / "AGENTS.md").chmod(0o777),
    "what new rules hide": _hide,
    "a hook": lambda desk, _home: desk.put(".git/hooks/pre-commit", "evil", 0o755),
    "git's configuration": lambda desk, _home: git(desk.root, "config", "core.pager", "evil"),
    "an ignored file": lambda desk, _home: desk.put(".envrc", "evil\n"),
    "a link": lambda desk, _home: (desk.root / ".mcp.json").symlink_to("a.py"),
}


TOGETHER = (
    [
        *("a start-up file", "a new program", "a program that is gone", "our own configuration", "trust"),
        *("instructions", "a hook", "an ignored file", "a link"),
    ],
    ["instructions that are gone", "what new rules hide", "git's configuration"],
    ["what was moved away"],
    ["a mode"],
)
"""What one command can change: no two of the same file."""


def test_all_changes_are_tried() -> None:
    assert sorted(each for changes in TOGETHER for each in changes) == sorted(CHANGES)


def _all_of(changes: list[str]) -> Change:
    def change(desk: Desk, home: Path) -> None:
        for each in changes:
            CHANGES[each](desk, home)

    return change


async def _killed(
    tmp_path: Path, home: Path, change: Change, consent: Callable[[Desk, Path], Consent], *, dies: bool = True
) -> tuple[list[str], Files]:
    """What a reopening says of a command that was killed, and the protected files before it, after it, and after
    the reopening. Where it `dies`, its guard has given a last sign."""
    _write(home / ".bashrc", "old")
    _write(home / "bin/tool", "old")
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a.py", "1\n")
        desk.put("AGENTS.md", "be kind\n")
        desk.put(".envrc", "export A=1\n")
        desk.put(".gitignore", ".envrc\n")
        git(desk.root, "init", "-q", "-b", "main")
        settle()
        files = [protected_files(desk, home)]
        async with desk.calls.around_command("call", "shell", consent=consent(desk, home)):
            change(desk, home)
            files.append(protected_files(desk, home))
            if dies:
                (await desk.journal.shadow()).touch()
            await _orphan(desk)
            store, other = await reopened(tmp_path)
            async with store:
                notices = await other.journal.settle()
                assert await (await other.journal.intents()).unagreed(other.journal.root) == {}
                return notices, [*files, protected_files(desk, home)]


_REFUSED = Consent(refuse_all)


def _refused(_desk: Desk, _home: Path) -> Consent:
    return _REFUSED


def _all(_desk: Desk, _home: Path) -> Consent:
    return ALL


async def _orphan(desk: Desk) -> None:
    """Have what runs be of a process that is gone."""
    sql = "UPDATE intents SET started = 'long ago'"
    await desk.store.database.write(lambda connection: connection.execute(sql))


@pytest.mark.parametrize("changes", sampled(TOGETHER, quick=1))
async def test_it_is_put_back(tmp_path: Path, sealed_home: Path, changes: list[str]) -> None:
    notices, (before, changed, after) = await _killed(tmp_path, sealed_home, _all_of(changes), _refused)
    assert after == before
    assert changed != before
    assert [
        notice.startswith("Reverted an unapproved change by an interrupted command (") for notice in notices
    ] == [False, True]


def _asked_about_all(desk: Desk, home: Path) -> Consent:
    return Consent(refuse_all, covers=[desk.root, home])


@pytest.mark.parametrize("consent", [_asked_about_all, _all])
@pytest.mark.parametrize("changes", sampled(TOGETHER, quick=1))
async def test_what_the_user_was_asked_about_stays(
    tmp_path: Path, sealed_home: Path, changes: list[str], consent: Callable[[Desk, Path], Consent]
) -> None:
    notices, (before, changed, after) = await _killed(tmp_path, sealed_home, _all_of(changes), consent)
    assert len(notices) == 1
    assert after == changed != before


async def test_ordinary_work_stays(tmp_path: Path, sealed_home: Path) -> None:
    def change(desk: Desk, _home: Path) -> None:
        desk.put("a.py", "2\n")
        git(desk.root, "config", "user.name", "somebody")
        git(desk.root, "config", "remote.origin.fetch", "x")

    (notice,), _ = await _killed(tmp_path, sealed_home, change, _refused)
    assert notice.endswith("its changes are recorded: changed a.py.")
    assert "somebody" in (tmp_path / "project/.git/config").read_text()


@pytest.mark.exhaustive
async def test_one_command_makes_it_again(tmp_path: Path, sealed_home: Path) -> None:
    (_, notice), _ = await _killed(tmp_path, sealed_home, CHANGES["instructions"], _refused)
    found = re.search(r"`cogency-tui edits revert (\d+) --conversation \w+`", notice)
    assert found
    store, desk = await reopened(tmp_path)
    async with store:
        await desk.undo.apply(await desk.undo.of_edits([int(found[1])]), agreed=True)
        assert (desk.root / "AGENTS.md").read_text() == "be evil\n"
        assert await desk.journal.settle() == []
        assert (desk.root / "AGENTS.md").read_text() == "be evil\n"


async def test_what_was_changed_since_is_named_and_stays(tmp_path: Path, sealed_home: Path) -> None:
    def change(desk: Desk, _home: Path) -> None:
        desk.put("AGENTS.md", "be careful\n")
        for shadow in (tmp_path / "data/shadows").iterdir():
            os.utime(shadow, (1, 1))

    (notice,), (before, _, after) = await _killed(tmp_path, sealed_home, change, _refused, dies=False)
    assert "Check these files, which it or another program changed: AGENTS.md" in notice
    assert after != before


async def test_what_cannot_be_recorded_waits(
    tmp_path: Path, sealed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_given: object) -> None:
        raise AssertionError("put back")

    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("AGENTS.md", "be kind\n")
        settle()
        async with desk.calls.around_command("call", "shell", consent=_REFUSED):
            desk.put("AGENTS.md", "be evil\n")
            (await desk.journal.shadow()).touch()
            await _orphan(desk)
            store, other = await reopened(tmp_path)
            async with store:
                with monkeypatch.context() as patch:
                    patch.setattr("cogency_tui.agent.edits.interrupted_calls.put_back_unagreed", fails)
                    with pytest.raises(AssertionError, match="put back"):
                        await other.journal.settle()
                assert (desk.root / "AGENTS.md").read_text() == "be evil\n"
                (notice,) = await other.journal.settle()
                assert "): changed AGENTS.md. Reapply it with " in notice
                assert (desk.root / "AGENTS.md").read_text() == "be kind\n"


async def test_it_is_settled_before_any_start_in_whatever_project(tmp_path: Path, sealed_home: Path) -> None:
    data = tmp_path / "data"
    assert not any_left(data)
    async with desk_at(tmp_path / "project", data) as desk:
        _write(sealed_home / ".bashrc", "old")
        settle()
        async with desk.calls.around_command("call", "shell", consent=_REFUSED):
            _write(sealed_home / ".bashrc", "evil")
            assert not any_left(data)
            await orphan(desk, data)
            assert any_left(data)
            await settle_left(data)
            assert (sealed_home / ".bashrc").read_text() == "old"
            assert not any_left(data)
            assert any(".bashrc" in notice for notice in unseen_notices.pending(data))
