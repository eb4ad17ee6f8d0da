"""What a command of the shell runs: its simple commands, with what they are wrapped in taken off.

Best effort, to know what to ask about and what to keep. What decides whether a command may run without
being asked about is stricter: `agent/command_patterns.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from cogency_tui.tools.shell_scan import ASSIGNMENT, DEEPEST, scan
from cogency_tui.tools.shell_words import TOO_DEEP, TOO_MANY, Simple, Word

WRAPPERS: dict[str, tuple[str, int]] = {
    "builtin": ("", 0),
    "busybox": ("", 0),
    "chroot": ("", 1),
    "command": ("", 0),
    "doas": ("uC", 0),
    "env": ("uC", 0),
    "exec": ("a", 0),
    "fakeroot": ("", 0),
    "flock": ("wE", 1),
    "ionice": ("cnpt", 0),
    "nice": ("n", 0),
    "nohup": ("", 0),
    "parallel": ("jN", 0),
    "setsid": ("", 0),
    "stdbuf": ("ioe", 0),
    "strace": ("oe", 0),
    "sudo": ("ughpCrtTUDR", 0),
    "time": ("of", 0),
    "timeout": ("sk", 1),
    "unbuffer": ("", 0),
    "watch": ("n", 0),
    "xargs": ("nIPLsEda", 0),
}
"""Programs that run another one: their options that take a value, and how many words stand before it."""

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
_RUNNING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))

MOST = 1000
"""Simple commands of one text that are looked at."""


def parse(command: str) -> list[Simple]:
    """Every simple command in the order of writing.

    `sudo rm x` is found as `rm x`, `sh -c "rm x"` as that and as `rm x`, `xargs rm` as `rm` of words that
    are not known. Of more than `MOST` the rest is `TOO_MANY`.
    """
    found = _parsed(command, 0)
    return [*found[:MOST], TOO_MANY] if len(found) > MOST else found


def _parsed(command: str, depth: int) -> list[Simple]:
    return [each for found in scan(command, depth) for each in _unwrapped(found, depth)]


def _unwrapped(simple: Simple, depth: int) -> Iterator[Simple]:
    """The command, and those that it runs."""
    for _ in range(DEEPEST):
        inner = inside(simple) if simple.program in WRAPPERS else None
        if inner is None:
            break
        simple = inner
    program = simple.program
    if (program in WRAPPERS and inside(simple) is not None) or depth > DEEPEST:
        yield TOO_DEEP
        return
    yield simple
    if program in SHELLS:
        for index, word in enumerate(simple.arguments[:-1]):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word.text):
                yield from _script([simple.arguments[index + 1]], depth)
                return
    elif program == "eval":
        yield from _script(list(simple.arguments), depth)
    elif program == "find":
        for index, word in enumerate(simple.arguments):
            if word.text in _RUNNING:
                run = [each for each in simple.arguments[index + 1 :] if each.text not in (";", "+")]
                words = tuple(replace(each, known=each.known and "{}" not in each.text) for each in run)
                yield from _unwrapped(Simple(words), depth + 1)
                return


def _script(words: list[Word], depth: int) -> list[Simple]:
    found = _parsed(" ".join(word.text for word in words), depth + 1)
    return found if all(word.known for word in words) else [*found, Simple((Word("", known=False),))]


def inside(simple: Simple) -> Simple | None:
    """What a wrapper runs; None where it runs nothing."""
    with_value, before = WRAPPERS[simple.program]
    words = list(simple.arguments)
    while words and (words[0].text.startswith("-") or ASSIGNMENT.match(words[0].text)):
        option = words.pop(0).text
        if option == "--":
            break
        if not option.startswith("--") and option.startswith("-") and option[-1] in with_value and words:
            words.pop(0)
    del words[:before]
    if not words:
        return None
    if simple.program in ("xargs", "parallel"):
        words.append(Word("", known=False))
    return Simple(tuple(words), simple.redirections)
