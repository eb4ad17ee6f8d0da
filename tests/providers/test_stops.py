"""Stop markers that an endpoint stripped."""

import pytest

from cogency_tui.providers.stops import is_cut_inside_json, stripped_marker

CALL = '[{"name": "read", "args": {}}]'


@pytest.mark.parametrize(
    ("text", "stop", "marker"),
    [
        (f"<think>x</think>\n<execute>\n{CALL}\n", ["</execute>"], "</execute>"),
        (f"<execute>{CALL}", ["</execute>"], "</execute>"),
        ('<execute>\n[{"name": "write", "args": {"content": "a ', ["</execute>"], "</execute>"),
        ("<execute>\n", ["</execute>"], "</execute>"),
        ("Just an answer.", ["</execute>"], ""),
        ("A block opens with `<execute>` and closes with", ["</execute>"], ""),
        ("The <execute> marker is explained here.", ["</execute>"], ""),
        (f"<execute>{CALL}</execute>", ["</execute>"], ""),
        (f"§think: x\n§call: {CALL}\n", ["§execute"], "§execute"),
        ("§call: {}\n  ", ["§execute"], "§execute"),
        ("§call: {}\n§respond: never mind", ["§execute"], ""),
        ("§call: {} mid-line", ["§execute"], ""),
        ("§respond: done\n§end\n", ["§execute"], ""),
        (f"<execute>{CALL}", [], ""),
        (f"<execute>{CALL}", ["<end>"], ""),
    ],
)
def test_a_stripped_marker_is_told_from_a_natural_end(text: str, stop: list[str], marker: str) -> None:
    assert stripped_marker(text, stop) == marker


@pytest.mark.parametrize(
    ("text", "marker", "inside"),
    [
        (f"<execute>\n{CALL}\n", "</execute>", False),
        ('<execute>\n[{"name": "write", "args": {"content": "a ', "</execute>", True),
        ('<execute>\n[{"name": "write", "args": {"content": "a \\" ', "</execute>", True),
        ('§call: {"name": "write", "args": {"content": "\n', "§execute", True),
    ],
)
def test_a_marker_inside_a_string_was_content(text: str, marker: str, inside: bool) -> None:
    assert is_cut_inside_json(text, marker) is inside
