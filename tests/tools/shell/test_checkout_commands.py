"""Which commands bring files of the project with commits and write none by other means."""

from cogency_tui.tools.shell.checkout_commands import bringing
from tests.cases import cases

BRINGING = [
    "git switch x",
    "git pull --rebase",
    "git fetch origin && git merge origin/main",
    "git stash; git checkout main; git status",
    "if true; then git switch x; fi",
    "git submodule update --init",
    "cd sub && git pull | tail -3",
    "git pull --rebase && git push",
    "git merge --squash x && git commit -m x",
    "git add -A; git commit -m x; git switch x",
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
    "git am x; git switch y",
    "git push --receive-pack=evil; git switch x",
    "git -C sub switch x",
    "git switch x && make test",
]


@cases("command", BRINGING)
def test_brings_only_commits(command: str) -> None:
    found = bringing(command)
    assert found is not None
    assert found.alone


@cases("command", OTHERS)
def test_may_write_by_other_means(command: str) -> None:
    found = bringing(command)
    assert found is None or not found.alone


@cases(
    "command",
    [
        "git rebase --continue",
        "git merge --abort; git status",
        "git cherry-pick --skip",
        "git revert --quit",
        "git am --abort",
        "git bisect reset",
        "GIT_EDITOR=true git rebase --cont",
        "sed -i s/a/b/ x && git add -A && git -c core.editor=true rebase --continue",
    ],
)
def test_goes_on_with_what_git_has_left_half_way(command: str) -> None:
    found = bringing(command)
    assert found is not None
    assert not found.alone


@cases(
    ("command", "fetches", "takes_paths"),
    [
        ("git merge x", False, False),
        ("git checkout -q main && git pull", True, False),
        ("git -C sub fetch; make", True, False),
        ("git checkout -b x main && git merge y", False, False),
        ("git checkout main", False, False),
        ("git fetch; git checkout x -- AGENTS.md", True, True),
        ("git merge x; git checkout x AGENTS.md", False, True),
        ("git merge x; git restore -SW --source=x AGENTS.md", False, True),
    ],
)
def test_fetches_or_takes_files_by_their_names(command: str, *, fetches: bool, takes_paths: bool) -> None:
    found = bringing(command)
    assert found is not None
    assert (found.fetches, found.takes_paths) == (fetches, takes_paths)
