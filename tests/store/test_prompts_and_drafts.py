"""History and drafts of the prompt: private, bounded, one draft a prompt, claimed by one when it is free."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.errors import StoreError
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import (
    HISTORY,
    LONGEST,
    MOST,
    MOST_DRAFTS,
    Claimed,
    Draft,
    Prompts,
)

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


def texts(claimed: list[Claimed]) -> list[str]:
    return [each.draft.written.text for each in claimed]


def test_a_draft_is_claimed_only_when_its_process_is_gone(prompts: Prompts, tmp_path: Path) -> None:
    prompts.save(Draft(Written("mine")))
    leave_a_draft(tmp_path / "data", "theirs")
    (claimed,) = prompts.claim("")
    assert claimed.draft.written == Written("theirs")
    prompts.discard(claimed)
    assert prompts.claim("") == []


def test_a_draft_goes_to_its_conversation_and_one_of_none_to_the_next(prompts: Prompts) -> None:
    for text, conversation in (("of a", "a"), ("of none", ""), ("later of a", "a"), ("later of none", "")):
        prompts.put_aside(Draft(Written(text), conversation=conversation))
    assert texts(prompts.claim("b")) == []
    assert texts(prompts.claim("a")) == ["later of a", "of a"]
    assert texts(prompts.claim("")) == ["later of none"]
    assert texts(prompts.claim("")) == ["of none"]


def test_a_draft_is_claimed_by_one_prompt_of_many(prompts: Prompts) -> None:
    for number in range(20):
        prompts.put_aside(Draft(Written(f"draft {number}")))
    others = [Prompts(prompts.directory.parent.parent, Path("/project"), number) for number in range(8)]
    with ThreadPoolExecutor(len(others)) as threads:
        found = [threads.submit(others[number % 8].claim, "") for number in range(40)]
    claimed = [text for each in found for text in texts(each.result())]
    assert sorted(claimed) == sorted(f"draft {number}" for number in range(20))


def test_a_claimed_draft_outlives_the_process_that_claimed_it(prompts: Prompts, tmp_path: Path) -> None:
    prompts.put_aside(Draft(Written("nearly lost"), conversation="a"))
    claim = LEAVE_A_DRAFT.replace("save(Draft(Written(sys.argv[2]), conversation=sys.argv[3]))", "claim('a')")
    subprocess.run([sys.executable, "-c", claim, str(tmp_path / "data")], check=True)
    assert texts(prompts.claim("a")) == ["nearly lost"]


def test_a_released_draft_can_be_claimed_again(prompts: Prompts) -> None:
    prompts.put_aside(Draft(Written("again"), conversation="a"))
    (claimed,) = prompts.claim("a")
    assert prompts.claim("a") == []
    prompts.release(claimed)
    assert texts(prompts.claim("a")) == ["again"]


def test_a_draft_as_an_earlier_version_stored_it_is_claimed(prompts: Prompts, tmp_path: Path) -> None:
    leave_a_draft(tmp_path / "data", "from before", "c1")
    (path,) = prompts.directory.iterdir()
    stored = json.loads(path.read_bytes())
    path.write_text(json.dumps({**stored, "pid": 2**22 + 1, "started": "boot/1", "prompt": 1}))
    assert texts(prompts.claim("c1")) == ["from before"]


def test_of_very_many_drafts_the_oldest_are_deleted(prompts: Prompts) -> None:
    for number in range(MOST_DRAFTS + 5):
        prompts.put_aside(Draft(Written(f"draft {number}"), conversation="a"))
    assert len(prompts.claim("a")) == MOST_DRAFTS
    assert len(list(prompts.directory.iterdir())) == MOST_DRAFTS


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
