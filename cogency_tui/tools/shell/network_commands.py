"""Commands that use the network, by themselves or without naming a program that does.

A program that only the shell knows, and a program that runs text which it is given, may run anything. Once
untrusted content may have been read, they need a question like `curl`. Programs of the project (scripts,
builds, tests) are not included: the user's own commands name them all day.
"""

import filecmp
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cogency_tui.search_paths import find_program
from cogency_tui.tools.shell.command_line import reads_as_written
from cogency_tui.tools.shell.created_file_contents import MadeFiles
from cogency_tui.tools.shell.git_command import git_command
from cogency_tui.tools.shell.interpreter_code import has_reaching_code, inline_code, is_code_option, script
from cogency_tui.tools.shell.programs import (
    GIT,
    NETWORK_COMMANDS,
    base_name,
    facts,
    goes_to_network,
    is_interpreter,
    programs_with,
)
from cogency_tui.tools.shell.rule_options import stays_local
from cogency_tui.tools.shell.simple_command import Simple, Word
from cogency_tui.tools.shell.stream_scripts import stream_script
from cogency_tui.tools.shell.taint_free_commands import has_starting_option, unconfined
from cogency_tui.tools.shell.word_paths import Places

_UNWRITTEN = "a command known only at run time"
_RUNS_TEXT = "{}, which runs text given to it"
_ADDRESSED = "{}, which is given an address"
_MADE = "{}, which this command creates"
_NAMES_CLIENT = "{}, which is given the name of a network client"
_MADE_CODE = "{}, which may run code that this command creates"
_COPY = "{}, which is a copy of a system program"

_STRING_RUNNERS = programs_with("runs-text")
_SHELLS = programs_with("shell")
_POSIX = programs_with("posix")
_WRAPPERS = programs_with("wrapper")

_MAKE = re.compile(r"^(?:SHELL|MAKESHELL)=|^--eval|^-f\s*-?$|^-f/dev/|\$\(")
_LITTLE_LANGUAGES: Mapping[str, re.Pattern[str]] = {
    "bsdtar": re.compile(r"--?use-compress|-I"),
    **dict.fromkeys(("gmake", "make"), _MAKE),
    "man": re.compile(r"^-(?![afkw]$)"),
    "npm": re.compile(r"^--script-shell|^--node-options"),
    "rsync": re.compile(r"^-[A-Za-z]*e|^--rsh"),
    "sqlite3": re.compile(r"\.(?:shell|system|load)|[.|]\s*\||edit\(|load_extension"),
    "tar": re.compile(
        r"^--(?:to-c|checkpoint-a|use-c|rsh-c|info-s|new-v)|^-[A-Za-z]*[FI]|^(?:--file=)?[\w.@-]+:"
    ),
    "uv": re.compile(r"^--(?:with|index|default-index|extra-index|find-links|python)"),
    "zip": re.compile(r"^-[A-Za-z]*TT|^--unzip-command"),
}
"""Text in an argument of these programs that starts another."""

_GIT_SETTING = re.compile(
    r"(?:user|color|advice|column|log|init|i18n|gc)\.[\w.]+(?:=.*)?"
    r"|(?:commit|tag)\.gpgsign=false|core\.(?:autocrlf|eol|quotepath|safecrlf|filemode|ignorecase|abbrev)(?:=.*)?"
    r"|core\.(?:pager|editor)=(?:cat|true|:)?|core\.hooksPath=/dev/null|diff\.(?:renames|algorithm)=.*"
    r"|merge\.conflictstyle=.*|(?:safe|protocol)\.\w+(?:=.*)?",
    re.IGNORECASE,
)
"""Settings of git on its command line that start nothing."""

_SUBSCRIPTS = programs_with("subscripts")

_ADDRESS = re.compile(r"(?:^|[=:@\s])([a-z][a-z0-9+.-]*)://(?P<host>[^\s/:?#'\"]+)", re.IGNORECASE)
_HERE = re.compile(r"(?:[^@]*@)?(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\]?)", re.IGNORECASE)
_BARE_ADDRESS = re.compile(
    r"(?:(?:[\w-]+\.)+(?:ai|app|cc|ch|cloud|co|com|de|dev|eu|fr|info|io|me|net|nl|online|org|pw|ru|site|to|top|tv|uk"
    r"|us|xyz)|\d+(?:\.\d+){3})(?::\d+)?(?:/.*)?",
    re.IGNORECASE,
)
_HOST_OPTION = re.compile(r"-H.*|--host(?:=.*)?|--context(?:=.*)?|--registry(?:=.*)?|--index-url(?:=.*)?")
_PARSED = _POSIX | {"eval"}
_CODE_LIKE = re.compile(r"[\s(]")
_CLIENTS = programs_with("client")
_CLIENT = re.compile(
    rf"(?:^|[\s!;&|('\"`/=])(?:{'|'.join(sorted(_CLIENTS))})"
    r"(?=[\s;&|)'\"`]|$)|/dev/(?:tcp|udp)/"
)
"""The name of a client where a program may run it as a command."""

_STARTER = (
    r"PS4|PROMPT_COMMAND|BASH_ENV|ENV|LD_PRELOAD|GIT_(?:\w*EDITOR|\w*PAGER|SSH\w*|EXTERNAL_DIFF|ASKPASS"
    r"|PROXY_COMMAND|CONFIG\w*|EXEC_PATH)|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|RSYNC_RSH|SSH_ASKPASS"
    r"|PYTHONSTARTUP|PERL5OPT|NODE_OPTIONS|RUBYOPT|MAKEFLAGS|RUSTC_WRAPPER|TAR_OPTIONS|SHELL"
)
_SETTING = re.compile(
    rf"(?:^|[\s;&|(])(?P<starter>{_STARTER})\+?=(?!(?:true|:|cat|\"\"|''|/bin/true|/bin/cat|less)?(?:[\s;&|]|$))"
    r"|(?:^|[\s;&|(])(?P<path>PATH)\+?="
    r"|(?:^|[\s;&|(])(?P<address>\w+)=[\"']?[a-z][a-z0-9+.-]*://(?P<host>[^\s/:?#'\"]+)",
    re.IGNORECASE,
)
"""Variables that start programs, locate them, or send one to an address."""

_COPYABLE = (*sorted(programs_with("client", "copied")), "python3")
"""Programs that a program with a path is compared with."""

_COPYABLE_CLIENTS = frozenset(each for each in _COPYABLE if not is_interpreter(each))
"""Those of them that are no interpreters: an interpreter is recognised under its own name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Variables of a command that may send its programs to the network, in words; empty where none do.
    `every` applies to all of its programs, `addressed` to those that are not known to be local."""

    every: str = ""
    addressed: str = ""

    def of(self, simple: Simple) -> str:
        """Return the effect on one program."""
        return self.every or (self.addressed if unconfined(simple) else "")


def settings_in(command: str) -> Settings:
    """Return the variables that a command sets."""
    every = addressed = ""
    for found in _SETTING.finditer(command):
        if found["host"] is None:
            every = every or f"a command that sets {found['starter'] or found['path']}"
        elif not _HERE.fullmatch(found["host"]):
            addressed = addressed or f"a command that sets {found['address']}"
    return Settings(every, addressed)


def indirect_network(simple: Simple, command: str, places: Places, made: MadeFiles) -> str:
    """Explain how a simple command may reach the network without naming it; empty where it may not.

    `command` is the whole text that contains it, `made` the files that the command creates before.
    """
    if not simple.words:
        return ""
    first = simple.words[0]
    listed = first.text.startswith(":::")  # parallel takes what follows for commands
    if listed or not first.known or (first.pattern and first.text not in ("[", "[[")):
        return _UNWRITTEN
    if _evaluates(simple) or any(_unsure_device(each.target) for each in simple.redirections):
        return _RUNS_TEXT.format(simple.program or "the shell")
    if _runs_text(simple, command, made):
        return _RUNS_TEXT.format(simple.program)
    if not unconfined(simple):
        return ""
    if "/" in first.text and simple.program in made and not made.as_written(first):
        return _MADE.format(first.text)
    if _is_given_code(simple):
        return _RUNS_TEXT.format(simple.program)
    # A shell's input is examined separately.
    if simple.program not in _PARSED and any(_CLIENT.search(word.text) for word in simple.arguments):
        return _NAMES_CLIENT.format(simple.program)
    if made.reaches:
        return _MADE_CODE.format(simple.program)
    if "/" in first.text and any(map(_is_copy, places.targets(first) or ())):
        return _COPY.format(first.text)
    # The commands of git that take an address are known.
    addressed = simple.program != "git" and _is_addressed(simple)
    return _ADDRESSED.format(simple.program) if addressed else ""


def is_local(simple: Simple) -> bool:
    """Return whether a program that may use the network or run text has no argument for which it would."""
    plain = all(word.known and not word.pattern for word in simple.words)
    first = simple.words[0].text if simple.words else "/"
    texts = [word.text for word in simple.arguments]
    return plain and "/" not in first and stays_local(base_name(simple.program), texts)


def _runs_text(simple: Simple, command: str, made: MadeFiles) -> bool:
    """Return whether a program runs commands from its arguments, its input, or a file that the command
    creates."""
    program, texts = simple.program, [word.text for word in simple.arguments]
    if program == "trap" and all(word.known for word in simple.arguments):
        # The commands that it runs are examined separately.
        return False
    if has_starting_option(simple):
        return True
    starts = "launcher" in facts(program) and program not in _WRAPPERS and unconfined(simple)
    if (program in _STRING_RUNNERS or starts) and not is_local(simple):
        return True
    if stream_script(simple).runs:
        return True
    if (pattern := _LITTLE_LANGUAGES.get(program)) and any(map(pattern.search, texts)):
        return True
    if program == "git":
        return _git_runs(simple)
    if base_name(program) in NETWORK_COMMANDS and not _has_literal_command(simple):
        return True
    named = script(simple)
    written = named is None or named.text.rpartition("/")[2] in made
    if program in _SHELLS or program in (".", "source"):
        # Text that is written out is examined separately.
        return written and not _is_given_as_written(simple, named, made)
    if is_interpreter(program):
        # The text of its input, or of a file that the command creates, is in the command.
        code = command if written else "\n".join(inline_code(simple))
        return has_reaching_code(code) or _unsure_code(simple)
    return False


def _is_given_as_written(simple: Simple, named: Word | None, made: MadeFiles) -> bool:
    """Return whether a shell's commands are written in the command to the letter."""
    if named is not None:
        return made.as_written(named)
    if simple.program not in _POSIX or any(word.text != "-" for word in simple.operands()):
        return False
    redirected = any(each.operator.startswith("<") for each in simple.redirections)
    return reads_as_written(simple) if redirected else made.piped_as_written


def _is_given_code(simple: Simple) -> bool:
    """Return whether a program that may run it gets code which uses the network, or hides whether it does."""
    texts = [each.target.text for each in simple.redirections if each.operator == "<<<"]
    texts += ["\n".join(each.body) for each in simple.redirections]
    if "interpreter" in facts(simple.program):
        texts += [word.text for word in simple.arguments if _CODE_LIKE.search(word.text)]
    return any(map(has_reaching_code, texts))


def _unsure_code(simple: Simple) -> bool:
    """Return whether the shell builds the code of an option."""
    arguments = simple.arguments
    return any(is_code_option(option.text) and not code.known for option, code in pairwise(arguments))


def _git_runs(simple: Simple) -> bool:
    """Return whether git runs the value of an option, an alias or a program beside it."""
    command = git_command(simple)
    if command is None:
        return False
    if any(_starts(option, value) for option, value in command.options):
        return True
    if not command.words:
        return False
    if not command.name or command.words[0].pattern:
        return True
    texts = [word.text for word in command.arguments]
    match command.name:
        case "rebase":
            return any(text.startswith("-x") for text in texts)
        case "archive":
            return any(text.startswith("--re") for text in texts)
        case "bisect":
            return texts[:1] == ["run"]
        case name:
            return name not in GIT


def _starts(option: Word, value: Word | None) -> bool:
    """Return whether an option of git's own may start a program."""
    if not option.known or option.text.startswith(("--exec-path=", "--config-env")):
        return True
    setting = option.text[2:] or (value.text if value else "")
    return option.text.startswith("-c") and not _GIT_SETTING.fullmatch(setting)


def _has_literal_command(simple: Simple) -> bool:
    """Return whether the command of a program with many is written out."""
    for word in simple.arguments:
        if not word.known or word.pattern:
            return False
        if not word.text.startswith(("-", "+")):
            return True
    return True


def _evaluates(simple: Simple) -> bool:
    """Return whether the shell evaluates quoted text in an argument."""
    return simple.program in _SUBSCRIPTS and any(
        re.search(r"\[[^\]]*(?:\$\(|`)", word.text) for word in simple.arguments
    )


def _unsure_device(target: Word) -> bool:
    """Return whether a redirection may lead to a server, as far as the text shows."""
    return not target.known and not target.resolved and target.text.startswith("/dev/")


def _is_copy(path: Path) -> bool:
    """Return whether a program is a copy of one of the system's that uses the network."""
    try:
        if path.is_symlink():
            # It is the program that it leads to, whatever its name.
            return base_name(Path(os.path.realpath(path)).name) in _COPYABLE_CLIENTS
        if is_interpreter(path.name):
            return False
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return False
        for name in _COPYABLE:
            own = find_program(name)
            if own and Path(own).stat().st_size == status.st_size and filecmp.cmp(path, own, shallow=False):
                return True
    except OSError:
        pass
    return False


def _is_addressed(simple: Simple) -> bool:
    """Return whether a program that may contact any address is given one elsewhere."""
    texts = [word.text for word in simple.arguments]
    if any(not _HERE.fullmatch(found["host"]) for text in texts for found in _ADDRESS.finditer(text)):
        return True
    if simple.program in NETWORK_COMMANDS and any(map(_HOST_OPTION.fullmatch, texts)):
        return True
    return "/" in simple.words[0].text and any(map(_BARE_ADDRESS.fullmatch, texts))


_INLINE = re.compile(r"://|\bsocket\b|\burllib\b|\brequests\b|\bhttp\b|\bfetch\(", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
_SERVES_FILES = ("-m", "http.server")
_SERVES_OTHERS = "{} -m http.server (add --bind 127.0.0.1: without it, it also serves other machines)"
_BINDING = re.compile(r"(?:--bind[= ]|-b ?)(?:localhost|127\.0\.0\.1|::1)")


def network_in_input(simple: Simple, command: str) -> str:
    """Return the interpreter, where the program on its input uses the network."""
    given = any(redirection.operator.startswith("<<") for redirection in simple.redirections)
    if given and is_interpreter(simple.program) and _INLINE.search(command):
        return simple.program
    return ""


def network_program(simple: Simple) -> str:
    """Return the program, where it uses the network by itself or by its arguments."""
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
    """Return whether a module that is run as a program uses the network."""
    named = script(simple)
    if named is None or not named.text.startswith("-m"):
        return False
    rest = [*simple.arguments[simple.arguments.index(named) + 1 :]]
    name = named.after("-m") if named.text != "-m" else rest.pop(0) if rest else Word("")
    module = Simple((Word(name.text.replace("_", "-")), *rest))
    return has_reaching_code(name.text) or bool(network_program(module))


def opens_device(simple: Simple) -> bool:
    """Return whether the shell itself connects to a server."""
    return any(_DEVICE.match(redirection.target.text) for redirection in simple.redirections)
