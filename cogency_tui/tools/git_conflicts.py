"""Commands of git that write files in a conflict as git itself has them."""

from cogency_tui.tools.shell_words import Simple

_SIDES = ("conflict", "merge", "ours", "theirs")
_LETTERS = "23m"
_OTHERS = ("patch", "source", "staged")


def settles_conflict(simple: Simple) -> bool:
    """Whether a command writes nothing but one side of a conflict, or both with marks between them."""
    texts = [word.text for word in simple.arguments]
    if simple.program != "git" or texts[:1] not in (["checkout"], ["restore"]):
        return False
    if any(each.writes and each.target.text != "/dev/null" for each in simple.redirections):
        return False
    return simple.has(_LETTERS, *_SIDES) and not simple.has("psSbB", *_OTHERS)
