"""History and drafts of the prompt: private, bounded, one draft a process, orphans found again."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.errors import StoreError
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import HISTORY, LONGEST, MOST, Draft, Prompts

CHIPS = Written(
    "look: [pasted 3 lines] and [pasted 30 lines]",
    {"[pasted 3 lines]": "a\nb\nc", "[pasted 30 lines]": "x\n" * 30},
)

LEAVE_A_DRAFT = """
import sys
from pathlib import Path
from cogency_tui.store.prompts_and_drafts import Draft, Prompts
from cogency_tui.store.prompt_text import Written
Prompts(Path(sys.argv[1]), Path("/project")).save(Draft(Written(sys.argv[2]), conversation=sys.argv[3]))
"""


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    return Prompts(tmp_path / "data", Path("/project"))


def leave_a_draft(data: Path, text: str, conversation: str = "") -> None:
    """As a process that is gone left it."""
    subprocess.run([sys.executable, "-c", LEAVE_A_DRAFT, str(data), text, conversation], check=True)


def test_the_history_reads_back_in_order_with_what_was_pasted(prompts: Prompts) -> None:
    entries = [Written("one"), CHIPS, Written("a lone \ud800 surrogate"), Written("two\nlines")]
    for entry in entries:
        prompts.remember(entry)
    assert prompts.history() == entries


def test_each_project_has_its_own(prompts: Prompts, tmp_path: Path) -> None:
    prompts.remember(Written("here"))
    assert Prompts(tmp_path / "data", Path("/other")).history() == []


def test_nobody_else_can_read_it(prompts: Prompts) -> None:
    before = os.umask(0)
    try:
        prompts.remember(Written("secret"))
        prompts.save(Draft(Written("secret")))
    finally:
        os.umask(before)
    files = list(prompts.directory.iterdir())
    assert len(files) == 2
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600, 0o600]
    assert stat.S_IMODE(prompts.directory.stat().st_mode) == 0o700


def test_the_history_is_cut_to_the_last_entries(prompts: Prompts) -> None:
    prompts.remember(Written("first"))
    line = (prompts.directory / HISTORY).read_bytes()
    (prompts.directory / HISTORY).write_bytes(line * (2 * MOST))
    prompts.remember(Written("last"))
    found = prompts.history()
    assert len(found) == MOST
    assert found[-1] == Written("last")
    assert len((prompts.directory / HISTORY).read_bytes().splitlines()) == MOST


def test_a_very_long_entry_is_not_kept(prompts: Prompts) -> None:
    prompts.remember(Written("x" * LONGEST))
    prompts.remember(Written("short"))
    assert prompts.history() == [Written("short")]


def test_lines_that_cannot_be_read_cost_nothing_else(prompts: Prompts) -> None:
    prompts.remember(Written("one"))
    with (prompts.directory / HISTORY).open("ab") as file:
        file.write(b'{"text": 3}\n\xff\xfe\n' + b"[" * 100_000 + b"\n")
    prompts.remember(Written("two"))
    assert prompts.history() == [Written("one"), Written("two")]


def test_a_draft_is_an_orphan_only_when_its_process_is_gone(prompts: Prompts, tmp_path: Path) -> None:
    prompts.save(Draft(Written("mine")))
    leave_a_draft(tmp_path / "data", "theirs", "c1")
    (draft,) = prompts.orphans()
    assert (draft.written, draft.conversation) == (Written("theirs"), "c1")
    prompts.discard(draft)
    assert prompts.orphans() == []


@pytest.mark.exhaustive
def test_the_newest_orphan_comes_first(prompts: Prompts, tmp_path: Path) -> None:
    for text in ("old", "new"):
        leave_a_draft(tmp_path / "data", text)
    assert [draft.written.text for draft in prompts.orphans()] == ["new", "old"]


def test_a_later_draft_takes_the_place_of_the_one_before_and_an_empty_one_is_none(prompts: Prompts) -> None:
    for text in ("one", "two"):
        prompts.save(Draft(Written(text), queue=(CHIPS,)))
    (path,) = prompts.directory.iterdir()
    assert json.loads(path.read_bytes())["written"]["text"] == "two"
    assert json.loads(path.read_bytes())["queue"][0]["pastes"] == CHIPS.pastes
    prompts.save(Draft(Written("  \n")))
    assert list(prompts.directory.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    prompts = Prompts(tmp_path / "data", Path("/project"))
    with pytest.raises(StoreError):
        prompts.remember(Written("x"))
    with pytest.raises(StoreError):
        prompts.save(Draft(Written("x")))


def test_a_link_in_the_place_of_the_history_is_not_followed(prompts: Prompts, tmp_path: Path) -> None:
    prompts.remember(Written("x"))
    (prompts.directory / HISTORY).unlink()
    (prompts.directory / HISTORY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        prompts.remember(Written("y"))
    assert not (tmp_path / "elsewhere").exists()


def test_the_whole_text_has_what_the_chips_stand_for() -> None:
    assert CHIPS.full == "look: a\nb\nc and " + "x\n" * 30


@pytest.mark.exhaustive
@settings(max_examples=40)
@given(st.text(), st.dictionaries(st.text(min_size=1), st.text(), max_size=3))
def test_a_text_without_chips_is_itself(text: str, pastes: dict[str, str]) -> None:
    left = {chip: paste for chip, paste in pastes.items() if chip not in text}
    assert Written(text, left).full == text
