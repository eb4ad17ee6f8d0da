"""The prompt: what is typed is what is sent, in the order in which it was typed."""

from pathlib import Path

import pytest
from textual import events

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.paste_chips import following
from tests.tui.driving import (
    app_over,
    conversation_of,
    files_of,
    finished,
    prompt_of,
    send,
    shown,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent, respond


async def test_nothing_is_sent_from_an_empty_prompt_and_enter_empties_it(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await pilot.press("space", "enter")
        assert agent.asked == []
        prompt_of(pilot).replace_text("")
        await type_text(pilot, "hello")
        prompt = prompt_of(pilot)
        assert pilot.app.cursor_position == prompt.content_region.offset + (5, 0), "the real cursor is there"
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["hello"])
        assert prompt_of(pilot).text == ""


@pytest.mark.exhaustive
async def test_a_line_is_broken_and_the_prompt_grows(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        prompt = prompt_of(pilot)
        for key in ("shift+enter", "ctrl+j"):
            prompt.replace_text("")
            await until(pilot, lambda: prompt.size.height == 1)
            await pilot.press("a", key, "b")
            await until(pilot, lambda: prompt.size.height == 2)
        prompt.insert("\nc" * 10)
        await until(pilot, lambda: prompt.size.height == 12)
        prompt.insert("\nc" * 10)
        await until(pilot, lambda: prompt.size.height == 40 // 3)
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["a\nb" + "\nc" * 20])


async def test_keys_in_one_burst_keep_their_order(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        for key in ("o", "n", "e", "enter", "t", "w", "o"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await until(pilot, lambda: prompt_of(pilot).text == "two")
    assert agent.asked == ["one"]


async def test_keys_typed_while_it_starts_are_kept_and_sent(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    app = app_over(agent)
    for key, character in (("h", "h"), ("i", "i"), ("ctrl+j", "\n"), ("x", "x")):
        app.post_message(events.Key(key, character))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: agent.asked == ["hi"])
        await until(pilot, lambda: prompt_of(pilot).text == "x")


@pytest.mark.exhaustive
async def test_the_history_is_at_the_edges_and_the_draft_comes_back(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        prompt = prompt_of(pilot)
        for text in ("first", "second"):
            await send(pilot, text)
            await finished(pilot)
        prompt.replace_text("draft")
        seen: list[str] = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(prompt.text)
        assert seen == ["second", "first", "first", "second", "draft", "draft"]

        # Inside a text of several lines, the cursor moves.
        prompt.replace_text("a\nb")
        await pilot.press("up")
        assert prompt.text == "a\nb"
        await pilot.press("up")
        assert prompt.text == "second"


@pytest.mark.parametrize(
    ("history", "since", "whole"),
    [
        ("ab", "cd", "abcd"),
        ("ab", "bc", "abc"),
        ("abc", "bc", "abc"),
        ("", "a", "a"),
        ("aba", "abc", "ababc"),
    ],
)
def test_a_history_that_was_read_late_repeats_nothing(history: str, since: str, whole: str) -> None:
    late = following([Written(text) for text in history], [Written(text) for text in since])
    assert [written.text for written in late] == [*whole]


@pytest.mark.exhaustive
async def test_line_editing_keys(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        for keys, expected in (
            (["ctrl+a", "X"], "Xone two"),
            (["ctrl+a", "ctrl+e", "X"], "one twoX"),
            (["ctrl+w"], "one "),
            (["ctrl+u"], ""),
            (["ctrl+a", "ctrl+k"], ""),
            (["alt+b", "X"], "one Xtwo"),
            (["ctrl+a", "alt+f", "X"], "oneX two"),
            (["ctrl+a", "alt+d"], " two"),
        ):
            prompt_of(pilot).replace_text("one two")
            await pilot.press(*keys)
            assert prompt_of(pilot).text == expected, keys

        for text, left in [("", ""), ("one", ""), ("one\ntwo", "one\n")]:
            prompt_of(pilot).replace_text(text)
            await pilot.press("ctrl+x")
            assert prompt_of(pilot).text == left, "the last line is cut"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (["ctrl+u"], "first\nX three\nlast"),
        (["ctrl+k"], "first\n{two}X\nlast"),
        (["home"], "first\nX{two} three\nlast"),
        (["ctrl+a"], "first\nX{two} three\nlast"),
        (["end"], "first\n{two} threeX\nlast"),
        (["ctrl+e"], "first\n{two} threeX\nlast"),
        (["shift+home", "backspace"], "first\nX three\nlast"),
        (["end", "ctrl+k"], "first\n{two} threeXlast"),
    ],
)
async def test_a_wrapped_line_is_one_line_to_the_editing_keys(
    project: Path, keys: list[str], left: str
) -> None:
    two = "two " * 30 + "two"
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 24)) as pilot:
        prompt = prompt_of(pilot)
        prompt.replace_text(f"first\n{two} three\nlast")
        prompt.move_cursor((1, len(two)))
        assert prompt.wrapped_document.height > 4
        await pilot.press(*keys, "X")
        assert prompt.text == left.format(two=two)


async def test_a_paste_is_cleaned_and_not_sent(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        pilot.app.post_message(events.Paste("one\x1b[2J\r\ntwo\n"))
        await until(pilot, lambda: prompt_of(pilot).text == "one\ntwo\n")
        assert agent.asked == []


async def test_at_in_the_file_tree_mentions_the_file(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
        files_of(pilot).focus()
        await pilot.press("end", "@")
        await until(pilot, lambda: prompt_of(pilot).text == "@README.md ")
        assert prompt_of(pilot).has_focus


LONG = respond("\n\n".join(f"paragraph {number}" for number in range(80)))


async def test_the_conversation_scrolls_from_the_prompt(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [LONG])).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        view, prompt = conversation_of(pilot), prompt_of(pilot)
        await until(pilot, lambda: "paragraph 79" in shown(view))
        end = view.scroll_offset.y

        await pilot.press("pageup")
        assert view.scroll_offset.y == end - view.page + 2
        assert not view.following
        await pilot.press("shift+up", "shift+up", "shift+down", "pagedown")
        assert view.scroll_offset.y == end - 1
        await pilot.press("ctrl+home")
        assert "go" in shown(view)
        await pilot.press("ctrl+end")
        assert "paragraph 79" in shown(view)
        assert view.following
        assert prompt.has_focus


async def test_a_draft_scrolls_too_and_its_lines_can_still_be_selected(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [LONG])).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        view, prompt = conversation_of(pilot), prompt_of(pilot)
        await until(pilot, lambda: "paragraph 79" in shown(view))
        before = view.page
        prompt.replace_text("one\ntwo\nthree")
        await until(pilot, lambda: view.page < before and view.following)
        end = view.scroll_offset.y

        await pilot.press("pageup")
        assert view.scroll_offset.y < end
        await pilot.press("pagedown", "shift+down")
        assert view.following, "below the last line of the draft there is nothing to select"
        assert prompt.selected_text == ""
        await pilot.press("shift+up", "shift+up", "shift+up")
        assert prompt.selected_text == prompt.text
        assert view.scroll_offset.y == end
        assert prompt.text == "one\ntwo\nthree"


async def test_an_edited_message_of_the_history_stays_edited_until_one_is_sent(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [respond("Hello")])).run_test(size=(100, 30)) as pilot:
        prompt = prompt_of(pilot)
        prompt.remember([Written("older"), Written("old")])
        await type_text(pilot, "draft")
        await pilot.press("up", "!", "up", "?", "down")
        assert prompt.text == "old!"
        prompt.remember([Written("oldest"), Written("older"), Written("old")])
        await pilot.press("up")
        assert prompt.text == "older?"
        await pilot.press("down", "down")
        assert prompt.text == "draft"
        await pilot.press("up", "enter")
        await finished(pilot)
        assert [entry.text for entry in prompt.entries] == ["oldest", "older", "old", "old!"]
        await pilot.press("up", "up", "up")
        assert prompt.text == "older"
