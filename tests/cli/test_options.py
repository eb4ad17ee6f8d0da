"""A plain start uses no argument parser: its options are those that the parser would give it."""

from pathlib import Path

from msgspec.structs import asdict

from cogency_tui.cli.arguments import interface_parser
from cogency_tui.cli.options import InterfaceOptions


def test_the_defaults_are_those_of_the_parser() -> None:
    assert vars(interface_parser(()).parse_args([])) == asdict(InterfaceOptions())


def test_the_parser_fills_them_in() -> None:
    words = ["hi", "-c", "--model", "m", "--cwd", "/x", "--max-iterations", "3", "--debug"]
    parsed = interface_parser(()).parse_args(words, InterfaceOptions())
    expected = InterfaceOptions(
        prompt="hi", latest=True, model="m", cwd=Path("/x"), max_iterations=3, debug=True
    )
    assert parsed == expected
