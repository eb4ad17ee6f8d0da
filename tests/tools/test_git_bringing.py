"""Which commands bring files of the project with commits and write none by other means."""

import pytest

from cogency_tui.tools.git_bringing import bringing_words

BRINGING = [
    "git switch x",
    "git pull --rebase",
    "git fetch origin && git merge origin/main",
    "git stash; git checkout main; git status",
    "if true; then git switch x; fi",
    "git submodule update --init",
    "cd sub && git pull | tail -3",
]
OTHERS = [
    "git status",
    "git() { sh evil; }; git switch x",
    "alias git=evil; git switch x",
    "git switch x | sh",
    "git switch $(sh evil)",
    "git switch `sh evil`",
    "git switch x <(sh evil)",
    "eval git switch x",
    "git switch x & sh y",
    "GIT_EXEC_PATH=. git switch x",
    "git switch x; . ./evil",
    "xargs git switch < evil",
    "git pull --upload-pack=evil . x",
    "git rebase --ex evil x",
    "git rebase -ix 'sh a'",
    "git merge -s evil x",
    "git pull --strategy=evil",
    "git bisect start; git bisect run ./x",
    "git submodule foreach sh evil",
    "./git switch x",
    "env -S 'sh evil'; git switch x",
    "trap 'sh evil' EXIT; git switch x",
    "hash -p ./evil git; git switch x",
    "printf -v PATH .; git switch x",
    "sort -o AGENTS.md evil; git switch x",
    "git add -A; git commit -m x; git switch x",
    "git am x; git switch y",
]


@pytest.mark.parametrize("command", BRINGING)
def test_brings_only_commits(command: str) -> None:
    assert bringing_words(command)


@pytest.mark.parametrize("command", OTHERS)
def test_may_write_by_other_means(command: str) -> None:
    assert not bringing_words(command)
