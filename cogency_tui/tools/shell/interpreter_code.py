"""The code that an interpreter runs: behind an option, in a file, or on its input."""

import re
from functools import lru_cache
from itertools import pairwise

from cogency_tui.tools.shell.programs import programs_with
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word

_OPTION = re.compile(r"-(?:(?![WXM])[A-Za-z0-9.]{0,4}[ceE]|p|r)|--eval|--print")
"""Options that code follows."""

_CODE = re.compile(
    r"\b(?:exec|eval|compile|getattr|globals|import_module|importlib|__import__|codecs|base64|fromhex|b64decode"
    r"|subprocess|popen|spawn|child_process|ctypes|system|runpy|asyncio|ftplib|smtplib|telnetlib|webbrowser"
    r"|require\s*\(\s*[^'\"\s]|net|dgram|tls|dns|https?|urllib\w*|requests|httpx|aiohttp|socket\w*|LWP|IO::Socket"
    r"|curl\w*|fsockopen|file_get_contents|open-uri|open\w*\s*\(\s*['\"]\||wget|ssh|scp|sftp|telnet|socat|ncat|netcat"
    r"|openssl(?=\s)|getent(?=\s)|(?:dig|ping)(?=\s+\S+\.\S)|docker(?=\s+(?:exec|push|run)\s)"
    r"|nslookup|nc(?=\s+-|\s+\S+\s+\d)|dev/(?:tcp|udp))\b|`|://|-[rM](?:socket|net|lwp|http|io::)",
    re.IGNORECASE,
)
"""Code that uses the network, or hides that it does."""

_ATTACHED = re.compile(r"-[a-zA-Z]*[ceEr]\S|--(?:eval|print)=")
_SCRIPT_OPTION = re.compile(r"-[a-z]*c[a-z]*")
_WITH_VALUE = frozenset(("-W", "-X", "-I", "-O", "-o", "-M", "-d", "--rcfile", "--init-file"))
_SHELL_WITH_VALUE = re.compile(r"[-+][a-z]*[oO]")
_ENDS = ("--help", "-V", "-h")
_SHELL_ENDS = ("--help", "-n")
"""Options with which no script is run."""

_VERBOSE = re.compile(r"(?:python|pypy|ruby)[\d.]*")
"""Interpreters that run a script with `-v`, too."""

_SHELLS = programs_with("shell")
_INPUTS = ("/dev/fd/", "/proc/self/fd/")


def is_code_option(text: str) -> bool:
    """Return whether the next word is code."""
    return _OPTION.fullmatch(text) is not None


def _names_code(text: str) -> bool:
    return is_code_option(text) or text.startswith("-m") or _SCRIPT_OPTION.fullmatch(text) is not None


def script(simple: Simple) -> Word | None:
    """Return the file, module or text that a shell or an interpreter runs; None where it reads its input."""
    # Of a shell, the options `-e` and `-m` are other ones.
    is_shell = simple.program in _SHELLS
    is_option = _SCRIPT_OPTION.fullmatch if is_shell else _names_code
    ends = _SHELL_ENDS if is_shell else _ENDS if _VERBOSE.fullmatch(simple.program) else (*_ENDS, "-v")
    skip = False
    for word in simple.arguments:
        if skip:
            skip = False
        elif is_option(word.text):
            return word
        elif word.text.startswith("--version") or word.text in ends:
            return word
        elif word.text in _WITH_VALUE or (is_shell and _SHELL_WITH_VALUE.fullmatch(word.text)):
            skip = True
        elif word.text in ("-", "/dev/stdin") or word.text.startswith(_INPUTS):
            return None
        elif not word.text.startswith(("-", "+")):
            return word if word.known else None
    return None


def inline_code(simple: Simple) -> list[str]:
    """Return the arguments that are code, or its input; none without code."""
    texts = [word.resolved or word.text for word in simple.arguments]
    if any(map(is_code_option, texts)) or texts[:1] == ["eval"] or "timeit" in texts:
        return texts
    return [text for text in texts if _ATTACHED.match(text)]


@lru_cache(maxsize=8)
def has_reaching_code(code: str) -> bool:
    """Return whether code may use the network, or hides whether it does."""
    return bool(_CODE.search(code))


def has_unknown_code(simple: Simple) -> bool:
    """Return whether the code behind an option is expanded by the shell as a whole, and not known."""
    return any(
        is_code_option(option.text) and not code.sure and not code.text and code is not LISTED
        for option, code in pairwise(simple.arguments)
    )
