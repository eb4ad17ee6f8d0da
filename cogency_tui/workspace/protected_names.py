"""File names: deceptive ones, and protected ones, which are never written without asking.

Invariant: names are compared as the most lenient file system would (case, width, invisible characters,
trailing dots), so that no spelling of a protected name escapes; at worst a harmless name is asked about.

A file is protected if it runs, or serves as instructions, without being named: by logging in, by entering a
directory or opening it in an editor, by committing, by starting an agent, or with a program that is started
for something else. A file that runs because the user names it (a Makefile, the scripts of a package) is
not, nor one that other machines run later (workflows): nothing could be written without asking. A file that
only chooses a version of an installed program (`.nvmrc`, `.sdkmanrc`) starts nothing, and neither do the data
that hooks and agents keep in `.claude/` (`logs/a.json`).
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_HOOKS = "git runs what is inside as hooks"
_HOOKS_NAMED = "git hooks run commands listed in it"
_GIT_NAMES = "git runs commands listed in it"
_REPOSITORY = "git treats its directory as a repository, whose configuration can run commands"
_EDITOR = "an editor runs commands listed in it"
_STARTUP = "a shell runs it at startup"
_PROGRAM = "a program runs it, or commands listed in it, at startup"
_INSTRUCTIONS = "agents take instructions from it"
_SERVERS = "agents start programs listed in it"
_OURS = "it holds this program's own configuration"

_PROTECTED_DIRECTORIES = {
    ".git": "git runs what is inside .git",
    "git~1": "git runs what is inside .git",
    ".hg": "Mercurial runs commands in its configuration",
    ".svn": "Subversion runs commands in its configuration",
    ".jj": "Jujutsu runs commands in its configuration",
    ".ssh": "it controls access to this machine, and can run commands",
    ".cogency": _OURS,
    **dict.fromkeys(
        (".husky", ".githooks", ".git-hooks", "githooks", ".lefthook", ".lefthook-local"), _HOOKS
    ),
    **dict.fromkeys(
        (".vscode", ".vs", ".idea", ".run", ".fleet", ".zed", ".nova", ".devcontainer", ".idx")
        + (".helix", ".vim")
        + (".nvim", ".emacs.d", ".doom.d", ".spacemacs.d"),
        _EDITOR,
    ),
    **dict.fromkeys(
        (".mise", ".shadowenv.d", ".bashrc.d", ".zshrc.d", ".zsh", ".oh-my-zsh", ".bash_completion.d"),
        _STARTUP,
    ),
    **dict.fromkeys(
        (".agent", ".agents", ".aiassistant", ".amazonq", ".augment", ".claude", ".clinerules", ".codex")
        + (".continue", ".copilot", ".cursor", ".factory", ".gemini", ".junie", ".kiro", ".opencode", ".qwen")
        + (".roo", ".trae", ".vibe", ".windsurf", ".crush", ".goose", ".grok", ".kilocode", ".openhands")
        + (".rovodev",),
        "it holds instructions for agents",
    ),
}

_DATA = {".claude": frozenset(("cache", "data", "logs", "sessions", "todos"))}
"""Directories in protected ones that have data beside programs: those of these kinds are not protected."""

_DATA_ENDINGS = (".csv", ".json", ".jsonl", ".log", ".txt")

_PROTECTED_PLACES = {
    # The last part may be a common name: it is protected where it follows the first.
    **dict.fromkeys(
        ((".config", "cogency-tui"), ("application support", "cogency-tui"), ("share", "cogency-tui")), _OURS
    ),
    **dict.fromkeys(
        ((".github", "instructions"), (".github", "prompts"), (".github", "agents")), _INSTRUCTIONS
    ),
    (".github", "chatmodes"): _INSTRUCTIONS,
    **dict.fromkeys(
        (("fish", "conf.d"), ("fish", "functions"), (".config", "fish"), (".config", "zsh"))
        + ((".config", "nushell"), (".config", "mise"), (".config", "direnv")),
        _STARTUP,
    ),
    **dict.fromkeys(
        ((".config", "nvim"), (".config", "helix"), (".config", "emacs"), (".config", "doom")), _EDITOR
    ),
    (".config", "git"): _GIT_NAMES,
    **dict.fromkeys(
        ((".local", "bin"), (".cargo", "bin"), (".pyenv", "shims"), (".rbenv", "shims"), (".nodenv", "shims"))
        + ((".asdf", "shims"), (".volta", "bin"), (".deno", "bin"), (".bun", "bin")),
        "shells find programs there",
    ),
    **dict.fromkeys(
        ((".cargo", "config"), (".cargo", "config.toml"), (".cargo", "env"), (".config", "tmux"))
        + ((".ipython", "profile_default"), (".gnupg", "gpg.conf"), (".gnupg", "gpg-agent.conf")),
        _PROGRAM,
    ),
    **dict.fromkeys(
        ((".config", "autostart"), ("systemd", "user"), ("library", "launchagents"))
        + ((".config", "environment.d"),),
        "it is run when the user logs in",
    ),
}

_PROTECTED_FILES = {
    **dict.fromkeys(
        (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile")
        + (".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc")
        + (".login", ".logout", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment")
        + (
            ".inputrc",
            ".envrc",
            ".direnvrc",
            ".tool-versions",
            ".rtx.toml",
            "config.fish",
            ".rvmrc",
            ".autoenv",
        )
        + (".bash_completion", ".bash_functions", ".bash_prompt", ".bashrc.local", ".zshrc.local", ".aliases")
        + (".zsh_aliases", ".zsh_functions", ".zpreztorc", ".zimrc", ".p10k.zsh", ".fzf.bash", ".fzf.zsh")
        + (".shrc", ".shinit", ".yashrc", ".xonshrc", ".gnomerc", ".xserverrc", ".selected_editor")
        + (".autoenv.zsh", ".autoenv_leave.zsh"),
        _STARTUP,
    ),
    **dict.fromkeys(
        (".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".dir-locals.el", ".dir-locals-2.el")
        + (
            ".devcontainer.json",
            ".lvimrc",
            ".local.vimrc",
            "_vimrc",
            "_exrc",
            ".nanorc",
            ".ycm_extra_conf.py",
            ".spacemacs",
        ),
        _EDITOR,
    ),
    **dict.fromkeys(
        (".tmux.conf", ".screenrc", ".gdbinit", ".lldbinit", ".pdbrc", ".psqlrc", ".sqliterc", ".irbrc")
        + (".pryrc", ".rprofile", ".renviron", "sitecustomize.py", "usercustomize.py", ".npmrc", ".yarnrc")
        + (".yarnrc.yml", ".pnpmfile.cjs", ".curlrc", ".wgetrc", ".netrc", ".ghci", ".iex.exs", ".erlang")
        + (".ocamlinit", ".octaverc", ".pythonrc.py", ".pythonstartup", ".tclshrc", ".wishrc", ".lessfilter")
        + (".mongorc.js", ".mongoshrc.js", ".my.cnf", ".ackrc", ".pdbrc.py", ".gdbearlyinit", ".perldb")
        + (
            ".sbclrc",
            ".eclrc",
            ".clisprc",
            ".ccl-init.lisp",
            ".guile",
            ".swiplrc",
            ".gnuplot",
            ".wezterm.lua",
        )
        + (".tmux.conf.local", ".forward", ".procmailrc", ".mailcap", ".muttrc"),
        _PROGRAM,
    ),
    **dict.fromkeys(
        ("agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "codex.md")
        + ("copilot-instructions.md", "gemini.md", "qwen.md", "warp.md", ".augment-guidelines")
        + (".continuerules", ".cursorrules", ".goosehints", ".roomodes", ".roorules", ".rules")
        + (".windsurfrules", ".aider.conf.yml", "agents.local.md", "crush.md", "crush.local.md", "grok.md")
        + (".clinerules", ".kilocodemodes", "replit.md"),
        _INSTRUCTIONS,
    ),
    **dict.fromkeys(
        (".mcp.json", "mcp.json", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json"),
        _SERVERS,
    ),
    **dict.fromkeys(
        (".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml", ".huskyrc", ".huskyrc.js")
        + (".huskyrc.json", "husky.config.js"),
        _HOOKS_NAMED,
    ),
    ".gitconfig": _GIT_NAMES,
    ".hgrc": "Mercurial runs commands in its configuration",
    "head": "it may turn its directory into a git repository, whose configuration can run commands",
    ".gitmodules": "git goes to addresses that it names",
    ".lfsconfig": "git goes to addresses that it names",
}

NAMES = frozenset(
    spelled
    for name in (*_PROTECTED_FILES, "mise.toml", "mise.local.toml", ".mise.toml", ".mise.local.toml")
    for head, dot, rest in [name.partition(".")]
    for spelled in (name, f"{head.upper()}{dot}{rest}", f"{head}{dot}{rest.capitalize()}")
)
"""Protected names as files usually have them, to check where a directory cannot be listed."""

_PROTECTED_ENDINGS = {
    ".code-workspace": _EDITOR,
    ".instructions.md": _INSTRUCTIONS,
    ".pth": "Python runs its content at startup",
}

_LEFTHOOK = re.compile(r"\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)")
_MISE = re.compile(r"\.?mise(?:\.[^/]*)?\.toml")

_BARE = frozenset(("head", "objects", "refs"))
"""Entries by which git recognises a directory as a repository."""

_OF_BARE = _BARE | {"config", "hooks", "info", "modules", "worktrees", "packed-refs", "commondir"}

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(name: str) -> str:
    """Return the name on one line of valid text: control characters and undecodable bytes are escaped."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(_escaped(character) for character in name)


def unusual(text: str) -> str:
    """Explain how this name or command is deceptive; empty for an ordinary one."""
    if text.isascii() and text.isprintable():
        return ""
    for character in text:
        if unicodedata.category(character) == "Cc":
            return "its name has a control character"
        if character in _BIDIRECTIONAL:
            return "its name has a character that changes the direction of the text"
        if unicodedata.category(character) == "Cf":
            return "its name has an invisible character"
    return ""


def protected(parts: Sequence[str]) -> str:
    """Explain why a file with these path components is never written without asking; empty where it may
    be."""
    folded = [_folded(part) for part in parts]
    data = _place_with_data(parts, folded)
    for place, part in enumerate(folded):
        if part in _PROTECTED_DIRECTORIES and place != data:
            return _PROTECTED_DIRECTORIES[part]
    for place in pairwise(folded):
        if place in _PROTECTED_PLACES:
            return _PROTECTED_PLACES[place]
    last = folded[-1] if folded else ""
    if _MISE.fullmatch(last):
        return _STARTUP
    if _LEFTHOOK.fullmatch(last):
        return _HOOKS_NAMED
    ending = next((ending for ending in _PROTECTED_ENDINGS if last.endswith(ending)), "")
    return _PROTECTED_FILES.get(last) or _PROTECTED_ENDINGS.get(ending, "")


def _place_with_data(parts: Sequence[str], folded: Sequence[str]) -> int:
    """The place of the directory for whose sake a file is not protected, for it is data there; -1 without
    one."""
    # A name that only a lenient file system would take for data may be something else on another.
    if not folded or parts[-1].casefold() != folded[-1] or not folded[-1].endswith(_DATA_ENDINGS):
        return -1
    for place, part in enumerate(folded[:-2]):
        if part in _DATA and folded[place + 1] in _DATA[part]:
            return place
    return -1


@lru_cache(maxsize=1 << 16)
def is_protected_name(name: str) -> bool:
    """Return whether any path with this component at its end is `protected`."""
    return bool(protected((name,)))


def is_instruction_file(name: str) -> bool:
    """Return whether agents read a file of this name as instructions in its directory, and nothing runs
    it."""
    folded = _folded(name)
    return _PROTECTED_FILES.get(folded) == _INSTRUCTIONS and folded.endswith(".md")


def in_repository(root: Path, parts: Sequence[str]) -> str:
    """Explain why a file below `root` needs a question as a part of a bare repository; empty where it is
    none.

    The repository exists, or the file would complete it. Blocks.
    """
    directory = root
    for part in parts:
        name = _folded(part)
        if name in _OF_BARE and all(name == each or _holds(directory, each) for each in _BARE):
            return _REPOSITORY
        directory /= part
    return ""


def _holds(directory: Path, name: str) -> bool:
    return any(os.path.lexists(directory / each) for each in (name, name.upper()))


def closest(name: str, candidates: Iterable[str]) -> str:
    """Return the candidate that was probably meant: the same except for Unicode form or case, or a near
    one."""
    import difflib

    known = list(candidates)
    key = _folded(name)
    for candidate in known:
        if _folded(candidate) == key:
            return candidate
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return near[0] if near else ""


def _folded(name: str) -> str:
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(character for character in name if unicodedata.category(character) != "Cf")
    # Windows treats `.git::$INDEX_ALLOCATION` as `.git`.
    return name.partition(":")[0].casefold().rstrip(". ") or name


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    category = unicodedata.category(character)
    if category == "Cc":
        return f"\\x{ord(character):02x}"
    if category == "Cs":
        return f"\\u{ord(character):04x}"
    return character


def short_path(path: Path) -> str:
    """Return `path` with the home directory as `~`."""
    home = Path.home()
    return (
        f"~/{path.relative_to(home).as_posix()}".removesuffix("/.")
        if path.is_relative_to(home)
        else str(path)
    )
