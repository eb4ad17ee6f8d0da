"""The characters of a path that match, however much of it is shown."""

from cogency_tui.tui.kit.fuzzy import marked_path
from cogency_tui.tui.theme_styles import theme_styles_of

STYLES = theme_styles_of("night")
PATH = "src/checkout/retry.py"


def parts(width: int) -> list[tuple[str, str]]:
    """The parts of `PATH`, matched by `so/ret`, with their roles."""
    roles = {
        STYLES("dim", "surface"): "dim",
        STYLES("text", "surface"): "text",
        STYLES("accent", "surface", "bold"): "accent",
    }
    segments = marked_path(PATH, [0, 9, 12, 13, 14, 15], width, STYLES, "surface")
    return [(segment.text, roles[segment.style]) for segment in segments if segment.style]


def test_directories_are_dim_and_the_matching_characters_marked() -> None:
    name = [("ret", "accent"), ("ry.py", "text")]
    whole = [("s", "accent"), ("rc/check", "dim"), ("o", "accent"), ("ut", "dim"), ("/", "accent"), *name]
    assert parts(40) == whole


def test_characters_of_shortened_directories_are_not_marked() -> None:
    name = [("ret", "accent"), ("ry.py", "text")]
    assert parts(19) == [("s/check", "dim"), ("o", "accent"), ("ut", "dim"), ("/", "accent"), *name]
    assert parts(14) == [("s/c", "dim"), ("/", "accent"), *name]
    assert parts(6) == [("…ry.py", "text")]
