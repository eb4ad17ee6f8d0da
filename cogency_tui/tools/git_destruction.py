"""What a command of git is about to destroy: uncommitted changes, and commits that no branch keeps.

What git would do is asked of git itself, in the directory that the command would run in. Where git cannot
say, it is told without numbers. Aliases are not looked up.
"""

from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

from cogency_tui.tools.command_line import option_values
from cogency_tui.tools.git_facts import Repository
from cogency_tui.tools.shell_paths import Places, joined
from cogency_tui.tools.shell_words import Simple, Word
from cogency_tui.tools.stakes import Stakes
from cogency_tui.workspace.names import shown

_WITH_VALUE = frozenset(("-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"))
_ALL_CHANGES = "all uncommitted changes"
_BRANCHES = "refs/heads/"
_MOST_NAMED = 3
_LONGEST_NAME = 80


def examine_git(simple: Simple, places: Places, stakes: Stakes) -> None:
    """Add what `simple`, a command of git, would destroy."""
    directories = places.directories
    rest = list(simple.arguments)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option == "-C" and rest:
            target = rest.pop(0).text
            directories = [joined(place, target) for place in directories]
        elif option in _WITH_VALUE and rest:
            rest.pop(0)
    examine = _COMMANDS.get(rest[0].text) if rest else None
    if examine is None:
        return
    command = Simple(tuple(rest))
    for directory in directories:
        if directory.is_dir():
            examine(command, directory, stakes)


def _reset(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("", "hard", "merge"):
        _all_changes(directory, stakes)
    targets = command.operands()[:1]
    if targets and command.has("", "hard", "keep", "merge"):
        _commits("", targets[0], directory, stakes)


def _switch(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("f", "force", "discard-changes"):
        _all_changes(directory, stakes)
    if command.has("C", "force-create"):
        _moved_branch(command, directory, stakes)


def _checkout(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("B"):
        _moved_branch(command, directory, stakes)
    if command.has("f", "force"):
        _all_changes(directory, stakes)
        return
    texts = [word.text for word in command.arguments]
    if "--" in texts:
        before, paths = command.arguments[: texts.index("--")], command.arguments[texts.index("--") + 1 :]
        committed = any(not word.text.startswith("-") for word in before)
        _changes_at(list(paths), directory, stakes, staged=committed)
        return
    words = command.operands("bBt")
    paths = [word for word in words if not word.known or word.pattern or _is_there(directory, word.text)]
    if paths:
        _changes_at(paths, directory, stakes, staged=len(paths) < len(words))


def _restore(command: Simple, directory: Path, stakes: Stakes) -> None:
    staged = command.has("S", "staged")
    if staged and not command.has("W", "worktree"):
        return
    source = command.has("s", "source")
    paths = [word for word in command.arguments if not word.text.startswith("-")]
    _changes_at(paths, directory, stakes, staged=staged or source)


def _clean(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("n", "dry-run"):
        return
    options = [f"-{letter}" for letter in "dxX" if command.has(letter)]
    paths = command.operands("e")
    known = all(word.known for word in paths)
    before = takewhile(lambda word: word.text != "--", command.words)
    kept = option_values(Simple(tuple(before)), ("-e", "--exclude"))
    options += [f"--exclude={word.text}" for word in kept if word.known and not word.pattern]
    found = stakes.repository(directory).cleaned(options, [word.text for word in paths] if known else [])
    if found is None:
        stakes.add("untracked files")
    else:
        stakes.add_files(found, whole=True)


def _stash(command: Simple, directory: Path, stakes: Stakes) -> None:
    words = [word.text for word in command.operands()]
    if words[:1] not in (["drop"], ["clear"]):
        stakes.stashed = stakes.stashed or words[:1] in ([], ["push"], ["save"])
        return
    if stakes.stashed:
        _all_changes(directory, stakes)
    stashes = stakes.repository(directory).stashes()
    if stashes is None:
        stakes.add("stashed changes")
        return
    if words[0] == "drop":
        wanted = words[1] if len(words) > 1 else "stash@{0}"
        wanted = f"stash@{{{wanted}}}" if wanted.isdecimal() else wanted
        stashes = [each for each in stashes if each.startswith(f"{wanted}:")]
    if stashes:
        names = ", ".join(shown(each[:_LONGEST_NAME]) for each in stashes[:_MOST_NAMED])
        more = f" and {len(stashes) - _MOST_NAMED:,} more" if len(stashes) > _MOST_NAMED else ""
        stakes.add(f"{len(stashes):,} stash{'' if len(stashes) == 1 else 'es'} ({names}{more})")


def _branch(command: Simple, directory: Path, stakes: Stakes) -> None:
    forced = command.has("f", "force")
    if command.has("D") or (command.has("d", "delete") and forced):
        for word in command.operands():
            _deleted_branch(word, directory, stakes)
    elif forced:
        _moved_branch(command, directory, stakes)
    elif command.has("MC"):
        words = command.operands()
        source = words[0] if len(words) > 1 else Word("HEAD")
        for word in words[-1:]:
            _commits(word.text, source, directory, stakes)


def _update_ref(command: Simple, directory: Path, stakes: Stakes) -> None:
    refs = [word for word in command.operands("m") if word.text.startswith(_BRANCHES)]
    if command.has("d") and refs:
        _deleted_branch(refs[0].after(_BRANCHES), directory, stakes)


def _deleted_branch(word: Word, directory: Path, stakes: Stakes) -> None:
    name = shown(word.text[:_LONGEST_NAME])
    commits = stakes.repository(directory).commits_only_in(word.text) if word.known else None
    if not word.known:
        stakes.add("branches whose names are not known beforehand")
    elif commits is None:
        stakes.add(f"the branch {name}")
    elif commits:
        stakes.add(f"the branch {name}: {_counted(commits)} in no other branch")


def _moved_branch(command: Simple, directory: Path, stakes: Stakes) -> None:
    """The first operand is a branch that goes to the second."""
    words = [*command.operands("t"), Word("HEAD")]
    if len(words) > 1 and words[0].known:
        _commits(words[0].text, words[1], directory, stakes)


def _commits(branch: str, target: Word, directory: Path, stakes: Stakes) -> None:
    """The commits that a branch loses when it goes to another; nothing where there is no such branch."""
    name = f"the branch {shown(branch[:_LONGEST_NAME])}" if branch else "the current branch"
    repository = stakes.repository(directory)
    if branch and repository.commits_only_in(branch) is None:
        return
    commits = repository.commits_only_in(branch, but=target.text) if target.known else None
    if commits is None:
        stakes.add(f"commits of {name} that may be in no other branch")
    elif commits:
        stakes.add(f"{_counted(commits)} of {name} in no other branch")


def _counted(commits: int) -> str:
    return f"{commits:,} commit{'' if commits == 1 else 's'}"


def _push(command: Simple, _directory: Path, stakes: Stakes) -> None:
    names = ("force", "force-with-lease", "mirror", "prune", "delete")
    refs = [word.text for word in command.operands("o")]
    if command.has("fd", *names) or any(ref.startswith(("+", ":")) for ref in refs):
        where = f"{shown(refs[0][:_LONGEST_NAME])} has" if refs else "the remote has"
        stakes.add(f"commits that {where} and that are not in what is pushed")


def _remove(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("f", "force") and not command.has("", "cached"):
        _changes_at(command.operands(), directory, stakes, staged=True)


def _worktree(command: Simple, directory: Path, stakes: Stakes) -> None:
    words = command.operands()
    if [word.text for word in words[:1]] != ["remove"]:
        return
    forced = command.has("f", "force")
    for word in words[1:]:
        if not word.known:
            stakes.add("a worktree whose name is not known beforehand")
            continue
        entries = stakes.repository(joined(directory, word.text)).entries(untracked=True)
        if entries is None:
            stakes.add(f"the worktree {shown(word.text[:_LONGEST_NAME])}")
        else:
            # What git ignores goes unasked even without force.
            stakes.add_entries(entry for entry in entries if forced or entry.index == "!")


def _forget(command: Simple, _directory: Path, stakes: Stakes) -> None:
    words = [word.text for word in command.operands()]
    prunes = any(word.text.startswith("--prune=") for word in command.arguments)
    if command.program == "prune" or prunes or words[:1] in (["expire"], ["delete"]):
        stakes.add("commits that no branch has any more")


def _rewrite(_command: Simple, _directory: Path, stakes: Stakes) -> None:
    stakes.add("the history of the repository as it is: every commit is written anew")


def _all_changes(directory: Path, stakes: Stakes) -> None:
    entries = stakes.repository(directory).entries()
    if entries is None:
        stakes.add(_ALL_CHANGES)
    else:
        stakes.add_entries(entries)


def _changes_at(words: list[Word], directory: Path, stakes: Stakes, *, staged: bool) -> None:
    """Changes of tracked files at these paths; with `staged` also those that are in the index."""
    if not words:
        return
    repository: Repository = stakes.repository(directory)
    known = all(word.known for word in words)
    entries = repository.entries_at([word.text for word in words]) if known else repository.entries()
    if entries is None:
        stakes.add(_ALL_CHANGES)
    else:
        stakes.add_entries(entry for entry in entries if staged or entry.tree != " ")


def _is_there(directory: Path, text: str) -> bool:
    try:
        return joined(directory, text).exists()
    except (OSError, ValueError):
        return False


_COMMANDS: dict[str, Callable[[Simple, Path, Stakes], None]] = {
    "branch": _branch,
    "checkout": _checkout,
    "clean": _clean,
    "filter-branch": _rewrite,
    "filter-repo": _rewrite,
    "gc": _forget,
    "prune": _forget,
    "push": _push,
    "reflog": _forget,
    "reset": _reset,
    "restore": _restore,
    "rm": _remove,
    "stash": _stash,
    "switch": _switch,
    "update-ref": _update_ref,
    "worktree": _worktree,
}
