"""Programs that go to the network by what they are, or by what they are told."""

import re

from cogency_tui.tools.indirect_network import is_local
from cogency_tui.tools.interpreter_code import has_reaching_code, script
from cogency_tui.tools.programs import base_name, facts, goes_to_network, is_interpreter
from cogency_tui.tools.shell_words import Simple, Word

_INLINE = re.compile(r"://|\bsocket\b|\burllib\b|\brequests\b|\bhttp\b|\bfetch\(", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
_SERVES_FILES = ("-m", "http.server")
_SERVES_OTHERS = "{} -m http.server, which serves other machines too without --bind 127.0.0.1"
_BINDING = re.compile(r"(?:--bind[= ]|-b ?)(?:localhost|127\.0\.0\.1|::1)")


def network_in_input(simple: Simple, command: str) -> str:
    """The interpreter, where the program that it is given on its input goes to the network."""
    given = any(redirection.operator.startswith("<<") for redirection in simple.redirections)
    if given and is_interpreter(simple.program) and _INLINE.search(command):
        return simple.program
    return ""


def network_program(simple: Simple) -> str:
    """The program, where it goes to the network by what it is or by what it is told."""
    program = simple.program
    if opens_device(simple):
        return program or "the shell"
    if is_local(simple):
        return ""
    if "network" in facts(program):
        return program
    texts = [word.text for word in simple.arguments]
    if goes_to_network(base_name(program), texts):
        return program
    if is_interpreter(program):
        if tuple(text for text in texts if text != "-u")[:2] == _SERVES_FILES:
            return "" if _BINDING.search(" ".join(texts)) else _SERVES_OTHERS.format(program)
        return program if any(map(_INLINE.search, texts)) or _module_reaches(simple) else ""
    return "rsync" if program == "rsync" and any(":" in text for text in texts) else ""


def _module_reaches(simple: Simple) -> bool:
    """Whether a module that is run as a program goes to the network."""
    named = script(simple)
    if named is None or not named.text.startswith("-m"):
        return False
    rest = [*simple.arguments[simple.arguments.index(named) + 1 :]]
    name = named.after("-m") if named.text != "-m" else rest.pop(0) if rest else Word("")
    module = Simple((Word(name.text.replace("_", "-")), *rest))
    return has_reaching_code(name.text) or bool(network_program(module))


def opens_device(simple: Simple) -> bool:
    """Whether the shell itself connects to a server."""
    return any(_DEVICE.match(redirection.target.text) for redirection in simple.redirections)
