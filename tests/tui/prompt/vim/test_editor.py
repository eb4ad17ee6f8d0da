"""Normal mode: what keys make of a text, as Vim does it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tui.driving import app_over, prompt_of
from tests.tui.prompt.vim.editing import agent_in, begin, marked, type_keys

Cases = list[tuple[str, str, str]]

MOTIONS: Cases = [
    ("one |two three", "h", "one| two three"),
    ("one |two three", "3l", "one two| three"),
    ("one two|", "l", "one tw|o"),
    ("|one, two", "w", "one|, two"),
    ("|one, two", "W", "one, |two"),
    ("|one two\nthree", "3w", "one two\nthre|e"),
    ("one two th|ree", "2b", "one |two three"),
    ("|one two", "2e", "one tw|o"),
    ("  one |two", "0", "|  one two"),
    ("  one |two", "^", "  |one two"),
    ("|one two", "$", "one tw|o"),
    ("long line\nx\nlong line|", "gg$jj", "long line\nx\nlong lin|e"),
    ("long l|ine\nx\nlong line", "jj", "long line\nx\nlong l|ine"),
    ("long |line\nlonger line", "$hlj", "long line\nlonger l|ine"),
    ("one\ntwo\n|three", "gg", "|one\ntwo\nthree"),
    ("|one\n  two\nthree", "G", "one\n  two\n|three"),
    ("|one\n  two\nthree", "2G", "one\n  |two\nthree"),
    ("|a-b-c-d", "f-", "a|-b-c-d"),
    ("|a-b-c-d", "2f-", "a-b|-c-d"),
    ("|a-b-c-d", "t-;", "a-|b-c-d"),
    ("|a-b-c-d", "f-;;,", "a-b|-c-d"),
    ("a-b-c-|d", "F-", "a-b-c|-d"),
    ("a-b-c-|d", "2T-", "a-b-|c-d"),
    ("|a-b", "fx", "|a-b"),
    ("f|(a, (b))", "%", "f(a, (b)|)"),
    ("one\n|two\n\nthree", "}", "one\ntwo\n|\nthree"),
    ("漢字|かな", "b", "|漢字かな"),
]

MORE_MOTIONS: Cases = [
    ("o|ne\n  two\nthree", "+", "one\n  |two\nthree"),
    ("one\n  two\nth|ree", "2-", "|one\n  two\nthree"),
    ("  one tw|o", "_", "  |one two"),
    ("o|ne\ntwo\nthree", "d+", "|three"),
    ("|one two  ", "g_", "one tw|o  "),
    ("|one two  ", "dg_", "|  "),
    ("one, tw|o", "ge", "one|, two"),
    ("one, tw|o", "gE", "one|, two"),
    ("on|e", "ge", "|one"),
    ("one\n\ntw|o", "2ge", "on|e\n\ntwo"),
    ("one tw|o x", "dge", "on| x"),
    ("one tw|o", "3|", "on|e two"),
    ("one tw|o", "d|", "|o"),
    ("one\nt|wo", "gk", "o|ne\ntwo"),
    ("one\nt|wo", "g0x", "one\n|wo"),
    ("o|ne\ntwo", "dgj", "o|wo"),
]

OPERATORS: Cases = [
    ("one |two three", "dw", "one |three"),
    ("one |two", "dw", "one| "),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("|one two three four", "d2w", "|three four"),
    ("|one two three four", "2d2w", "|"),
    ("one |two three", "db", "|two three"),
    ("one t|wo three", "de", "one t| three"),
    ("one |two three", "D", "one| "),
    ("one |two three", "d0", "|two three"),
    ("|a(b)c", "df)", "|c"),
    ("|a(b)c", "dt)", "|)c"),
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\ntwo\nthr|ee", "dd", "one\n|two"),
    ("o|ne\ntwo\nthree", "2dd", "|three"),
    ("o|ne\ntwo\nthree", "dj", "|three"),
    ("one\ntwo\nthr|ee", "dgg", "|"),
    ("|one\ntwo", "dG", "|"),
    ("|one", "dd", "|"),
    ("one |two three", "cwX⟨escape⟩", "one |X three"),
    ("one t|wo three", "ccnew⟨escape⟩", "ne|w"),
    ("one t|wo three", "CX⟨escape⟩", "one t|X"),
    ("on|e", "sX⟨escape⟩", "on|X"),
    ("on|e\ntwo", "SX⟨escape⟩", "|X\ntwo"),
    ("one |two", "ywP", "one tw|otwo"),
    ("o|ne\ntwo", "yyjp", "one\ntwo\n|one"),
    ("o|ne\ntwo", "YP", "|one\none\ntwo"),
    ("|one two", "dwp", "tone| wo"),
    ("|ab", "xp", "b|a"),
    ("|ab", "yl3p", "aaa|ab"),
    ("o|ne\ntwo", ">j", "    |one\n    two"),
    ("    |one", "<<", "|one"),
]

OBJECTS: Cases = [
    ("one tw|o three", "diw", "one | three"),
    ("one tw|o three", "daw", "one |three"),
    ("one tw|o", "daw", "on|e"),
    ("one, tw|o! three", "ciWX⟨escape⟩", "one, |X three"),
    ('say "hel|lo" now', 'ci"bye⟨escape⟩', 'say "by|e" now'),
    ('s|ay "hello" now', 'da"', "say |now"),
    ("it's 'a|b'", "di'", "it's '|'"),
    ("f(a, |(b))", "di(", "f(a, (|))"),
    ("f(a, (b|))", "2da(", "|f"),
    ("f(a|)", "dib", "f(|)"),
    ("[a, |b]", "ya[P", "[a, b|][a, b]"),
    ("{\n  |a\n}", "di{", "{\n|}"),
    ("<a |b>", "ci<x⟨escape⟩", "<|x>"),
    ("one\nt|wo\n\nthree", "dap", "|three"),
    ("|one", "di(", "|one"),
]

CHANGES: Cases = [
    ("a|bc", "x", "a|c"),
    ("a|bc", "5x", "|a"),
    ("ab|c", "2X", "|c"),
    ("a|bc", "rX", "a|Xc"),
    ("a|bc", "3rX", "a|bc"),
    ("|aBc", "2~", "Ab|c"),
    ("|one\n  two", "J", "one| two"),
    ("|one\ntwo\nthree", "3J", "one two| three"),
    ("  o|ne", "Ix⟨escape⟩", "  |xone"),
    ("o|ne", "Ax⟨escape⟩", "one|x"),
    ("o|ne", "ax⟨escape⟩", "on|xe"),
    ("o|ne", "ix⟨escape⟩", "o|xne"),
    ("o|ne", "3ix⟨escape⟩", "oxx|xne"),
    ("o|ne\ntwo", "ox⟨escape⟩", "one\n|x\ntwo"),
    ("o|ne", "2Ox⟨escape⟩", "x\n|x\none"),
]

REPETITION: Cases = [
    ("|one two three", "dw..", "|"),
    ("|one two three", "cwX⟨escape⟩w.w.", "X X |X"),
    ("|one two three four", "dw2.", "|four"),
    ("|a", "ix⟨escape⟩..", "|xxxa"),
    ("|abc", "Ax⟨backspace⟩yz⟨escape⟩.", "abcyzy|z"),
    ("|one\ntwo", "Onew⟨escape⟩G.", "new\none\nne|w\ntwo"),
    ("|one two", ".", "|one two"),
]

UNDO: Cases = [
    ("|one two", "dwu", "|one two"),
    ("|one two", "dwdwuu⟨ctrl+r⟩", "|two"),
    ("|one two", "dwdw2u", "|one two"),
    ("|x", "ione⟨ctrl+j⟩two three⟨escape⟩u", "|x"),
    ("|x", "ione⟨ctrl+j⟩two⟨escape⟩u⟨ctrl+r⟩", "|one\ntwox"),
    ("|one two", "dw.u", "|two"),
    ("|one", "3Ax⟨escape⟩u", "on|e"),
    ("|one", "u", "|one"),
]

KEYS: Cases = [
    ("one |two", "d⟨escape⟩w", "one tw|o"),
    ("one |two", "d⟨left⟩", "one|two"),
    ("one |two", "⟨left⟩⟨delete⟩", "one|two"),
    ("one |two", "⟨home⟩d⟨end⟩", "|"),
    ("one\n|two", "d⟨up⟩", "|"),
    ("one |two", "q", "one |two"),
    ("one |two", "⟨ctrl+w⟩", "|two"),
]


MISSING: Cases = [
    ("one |two", "viwdx", "one |wo"),
    ("one |two", "vfod0x", "|ne two"),
    ("one |two", "v⟨escape⟩x", "one |wo"),
    ("one |two", "vvx", "one |wo"),
    ("one |two", "vrax", "one |wo"),
    ("|one\ntwo", "Vjdx", "|ne\ntwo"),
    ("|one\ntwo", "vVggd⟨ctrl+v⟩2jIx⟨escape⟩x", "|ne\ntwo"),
    ("|one\ntwo", "vecnew⟨escape⟩citnew⟨escape⟩x", "|ne\ntwo"),
    ("|one\ntwo", "vggyx", "|ne\ntwo"),
    ("o|ne\ntwo", '"ayyjp', "one\ntwo\n|one"),
    ("|one two", '"+dw"+P', "one| two"),
    ("|one two three four five six seven", '2"a3dw', "|seven"),
    ("|one two", '"_d⟨escape⟩x', "|ne two"),
    ("|one two", "majd'ax", "|ne two"),
    ("|one two", "`ay`ax", "|ne two"),
    ("|one two", "qaxq@ax", "|e two"),
    ("|one two", "qazzqx", "|ne two"),
    ("|one two", "Rab⟨escape⟩x", "|ne two"),
    ("|one two", "guiwx", "|ne two"),
    ("|one two", "g~iwgUUg?2fox", "|ne two"),
    ("|one two", "==>>=ipx", "    |ne two"),
    ("|one two", "zzZ[[(dsx", "|ne two"),
    ("|one two", "/two⟨escape⟩d/two⟨escape⟩x", "|ne two"),
    ("|one two", "ditgix", "|ne two"),
    ("|one two", "/two⟨enter⟩xd/two⟨enter⟩xv/two⟨enter⟩dx", "| two"),
    ("|one two", "Rone⟨enter⟩two⟨escape⟩d⟨enter⟩x", "|ne two"),
    ("one| two", "r⟨enter⟩x", "one\n|wo"),
]


@pytest.mark.parametrize(
    "cases",
    [MOTIONS, MORE_MOTIONS, OPERATORS, OBJECTS, CHANGES, REPETITION, UNDO, KEYS, MISSING],
    ids=[
        "motions",
        "more motions",
        "operators",
        "objects",
        "changes",
        "repetition",
        "undo",
        "keys",
        "missing",
    ],
)
async def test_keys_edit_as_in_vim(project: Path, cases: Cases) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        results: Cases = []
        for text, keys, _ in cases:
            prompt_of(pilot).use_vim(on=False)
            prompt_of(pilot).use_vim(on=True)
            await begin(pilot, text)
            await type_keys(pilot, keys)
            results.append((text, keys, marked(pilot)))
        assert results == cases


CHARACTERS = "hjklwbeWBE0^$GfFtT;,dcyxXrpPuoOIAiaJ~.DCSYsg{}%<>()[]\"'23459zéか漢"
NAMES = (
    "space escape left right up down home end backspace delete ctrl+w ctrl+k ctrl+u ctrl+j ctrl+underscore"
)
REDO = "escape ctrl+r"
"""In insert mode Ctrl+R opens the recall."""

ANY_KEYS = st.lists(st.sampled_from([*CHARACTERS, *NAMES.split(), "escape", REDO]), max_size=40)
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
TEXTS = st.text("ab c.(\"'\n漢\t", max_size=30)


@settings(max_examples=15, suppress_health_check=SLOW)
@given(sequences=st.lists(st.tuples(TEXTS, ANY_KEYS), min_size=4, max_size=8))
async def test_any_keys_can_be_undone_to_the_first_text(
    project: Path, sequences: list[tuple[str, list[str]]]
) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        prompt = prompt_of(pilot)
        for text, keys in sequences:
            await begin(pilot, text)
            await pilot.press(*" ".join(keys).split(), "escape", "escape", *"99u")
            assert prompt.vim_mode == "normal"
            assert prompt.text == text
