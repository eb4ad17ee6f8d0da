"""What a command would destroy is known before it runs, wherever in the command that stands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.losses import AtStake, at_stake
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

FILES = {
    "clean.py": "clean\n",
    "changed.py": "before\n",
    "staged.py": "before\n",
    "src/clean.py": "clean\n",
    "src/changed.py": "before\n",
    ".gitignore": "build/\n*.log\n",
    "with space.txt": "clean\n",
}


class Repo:
    """A project under git, with everything that can be lost in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def create(cls, root: Path) -> "Repo":
        root.mkdir()
        repo = cls(root)
        for name, text in FILES.items():
            repo.put(name, text)
        repo.git("init", "-q", "-b", "main")
        repo.git("add", "-A")
        repo.commit("one")
        repo.put("changed.py", "after\n")
        repo.put("src/changed.py", "after\n")
        repo.put("staged.py", "after\n")
        repo.git("add", "staged.py")
        repo.put("new.txt", "new\n")
        repo.put("fresh/deep/new.txt", "new\n")
        repo.put("build/out.o", "object\n")
        repo.put("empty.txt", "")
        return repo

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str) -> None:
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", message)

    def git(self, *arguments: str) -> None:
        # The template is made before a test has a home of its own.
        environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *arguments], cwd=self.root, env=environ, check=True, capture_output=True)

    def stake(self, command: str, cwd: str = ".") -> AtStake:
        return at_stake(command, (self.root / cwd).resolve(), Workspace(self.root))

    def lost(self, command: str) -> str:
        return describe_losses(self.stake(command).losses)

    def paths(self, command: str, cwd: str = ".") -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.stake(command, cwd).paths}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Repo.create(tmp_path_factory.mktemp("template") / "proj").root


@pytest.fixture
def repo(tmp_path: Path, template: Path) -> Repo:
    return Repo(shutil.copytree(template, tmp_path / "proj"))


CHANGED = {"changed.py", "src/changed.py"}

GIT = [
    ("git reset --hard", CHANGED | {"staged.py"}),
    ("git reset --hard HEAD~0", CHANGED | {"staged.py"}),
    ("git reset --har", CHANGED | {"staged.py"}),
    ("git -c core.pager=cat reset --hard", CHANGED | {"staged.py"}),
    ("git -C src reset --hard", CHANGED | {"staged.py"}),
    ("git checkout -- changed.py", {"changed.py"}),
    ("git checkout changed.py", {"changed.py"}),
    ("git checkout -- 'src/*.py'", {"src/changed.py"}),
    ("git checkout .", CHANGED),
    ("git checkout HEAD .", CHANGED | {"staged.py"}),
    ("git checkout HEAD -- staged.py", {"staged.py"}),
    ("git checkout -f main", CHANGED | {"staged.py"}),
    ("git checkout -- $FILES", CHANGED),
    ("git switch -f main", CHANGED | {"staged.py"}),
    ("git switch --discard-changes main", CHANGED | {"staged.py"}),
    ("git restore .", CHANGED),
    ("git restore src", {"src/changed.py"}),
    ("git restore --source=HEAD --staged --worktree .", CHANGED | {"staged.py"}),
    ("git clean -f", {"new.txt", "empty.txt"}),
    ("git clean -fd", {"new.txt", "empty.txt", "fresh"}),
    ("git clean -fdx", {"new.txt", "empty.txt", "fresh", "build"}),
    ("git clean -fdX", {"build"}),
    ("git clean -fd -- fresh", {"fresh"}),
    ("git rm -f changed.py clean.py", {"changed.py"}),
]

FILE_COMMANDS = [
    ("rm new.txt", {"new.txt"}),
    ("rm -f changed.py clean.py", {"changed.py"}),
    ("rm *.txt", {"new.txt", "empty.txt"}),
    ("rm -rf src", {"src"}),
    ("rm -r ./fresh/", {"fresh"}),
    ("rm -rf build/*", {"build/out.o"}),
    ("rm -rf fresh/deep/../deep", {"fresh/deep"}),
    ("rm {new.txt,changed.py}", {"new.txt", "changed.py"}),
    ("unlink new.txt", {"new.txt"}),
    ("shred -u new.txt", {"new.txt"}),
    ("truncate -s 0 new.txt changed.py clean.py", {"new.txt", "changed.py"}),
    ("dd if=/dev/zero of=new.txt", {"new.txt"}),
    ("find . -name new.txt -delete", {"new.txt", "fresh/deep/new.txt"}),
    ("find fresh -delete", {"fresh"}),
    ("find fresh ! -name x -delete", {"fresh/deep/new.txt"}),
    ("find fresh -type f -exec rm {} +", {"fresh"}),
    ("mv clean.py new.txt", {"new.txt"}),
    ("mv clean.py fresh/deep/new.txt", {"fresh/deep/new.txt"}),
    ("mv new.txt fresh/deep", {"fresh/deep/new.txt"}),
    ("mv -t fresh/deep new.txt", {"fresh/deep/new.txt"}),
    ("cp clean.py new.txt", {"new.txt"}),
    ("cp --target-directory=fresh/deep new.txt", {"fresh/deep/new.txt"}),
    ("install -m 600 clean.py new.txt", {"new.txt"}),
    ("ln -sf clean.py new.txt", {"new.txt"}),
    ("echo x > new.txt", {"new.txt"}),
    ("echo x >| new.txt", {"new.txt"}),
    ("make &> new.txt", {"new.txt"}),
    ("make >& new.txt", {"new.txt"}),
    (": > new.txt", {"new.txt"}),
    ("> new.txt", {"new.txt"}),
    ("echo x | tee new.txt", {"new.txt"}),
    ("rsync -a --delete src/ fresh/", {"fresh"}),
    ("mkfs.ext4 new.txt", {"new.txt"}),
]

HIDDEN = [
    *(
        "true && rm new.txt",
        "false || rm new.txt",
        "true; rm new.txt",
        "true\nrm new.txt",
        "true & rm new.txt",
    ),
    *("(rm new.txt)", "{ rm new.txt; }", "if true; then rm new.txt; fi", "while true; do rm new.txt; done"),
    *("for x in 1; do rm new.txt; done", "case x in x) rm new.txt;; esac", "f() { rm new.txt; }; f"),
    *("function f { rm new.txt; }; f", "! rm new.txt", "time rm new.txt", "A=1 B=2 rm new.txt"),
    *(
        "sudo rm new.txt",
        "sudo -u root -- rm new.txt",
        "env A=1 rm new.txt",
        "env -i rm new.txt",
        "nohup rm new.txt",
    ),
    *(
        "timeout -s KILL 5 rm new.txt",
        "nice -n 5 rm new.txt",
        "command rm new.txt",
        "exec rm new.txt",
        "setsid rm new.txt",
    ),
    *("sudo env nice rm new.txt", "sh -c 'rm new.txt'", 'bash -lc "cd . && rm new.txt"', "eval 'rm new.txt'"),
    *("eval rm new.txt", "sudo sh -c \"sh -c 'rm new.txt'\"", "echo $(rm new.txt)", "echo `rm new.txt`"),
    *('echo "a $(rm new.txt) b"', "cat <(rm new.txt)", "cat <<EOF\n$(rm new.txt)\nEOF", "X=$(rm new.txt)"),
    *(
        "echo ${X:-$(rm new.txt)}",
        "r\\m new.txt",
        "'rm' new.txt",
        "r'm' \"new.txt\"",
        "/bin/rm new.txt",
        "rm new\\\n.txt",
    ),
    *(
        "cd src; cd ..; rm new.txt",
        "cd src && rm ../new.txt",
        "(cd src); rm new.txt",
        "rm -- new.txt",
        "rm -f -- new.txt",
    ),
    *(
        'rm "$PWD"x new.txt',
        "rm new.txt # and no more",
        "# first\nrm new.txt",
        "busybox rm new.txt",
        "flock x rm new.txt",
    ),
]

HARMLESS = [
    *(
        "ls",
        "git status",
        "git reset",
        "git reset --soft HEAD~1",
        "git checkout main",
        "git checkout -b other",
        "git stash",
    ),
    *(
        "git restore --staged .",
        "git clean -n",
        "git clean -nfdx",
        "git push",
        "git branch -d x",
        "git rm --cached a",
    ),
    *(
        "rm clean.py",
        "rm nothing.txt",
        "rm src",
        "rmdir fresh",
        "rm empty.txt.bak",
        "find . -name '*.py'",
        "find none -delete",
    ),
    *(
        "cat clean.py",
        "mv new.txt other.txt",
        "mv -n clean.py new.txt",
        "cp -n clean.py new.txt",
        "cp --backup a new.txt",
    ),
    *(
        "ln -s clean.py new.txt",
        "cp clean.py",
        "tee -a new.txt",
        "echo x >> new.txt",
        "echo x > other.txt",
        "echo x > clean.py",
    ),
    *(
        "echo x > empty.txt",
        "make > /dev/null 2>&1",
        "make 2>&1",
        "echo rm new.txt",
        "echo 'x > new.txt'",
        "grep rm new.txt",
    ),
    *(
        "cat <<'EOF' >> log\nrm new.txt\n> new.txt\nEOF",
        "cat <<EOF\n> new.txt\nEOF",
        "true # rm new.txt",
        "dd if=new.txt",
    ),
    *(
        "rsync -a src/ fresh/",
        "truncate -s 0 nothing",
        "python -c 'rm new.txt'",
        "git commit -m 'rm new.txt'",
        "[[ 1 < 2 ]]",
    ),
]


@pytest.fixture
def nested(tmp_path: Path) -> Repo:
    """A project with two submodules, one in the other, each with an uncommitted change."""
    repo = Repo.create(tmp_path / "outer")
    repo.git("reset", "-q", "--hard")
    for place in ("mod", "mod/deep"):
        inner = Repo(repo.root / place)
        inner.put("a.py", "before\n")
        inner.git("init", "-q", "-b", "main")
        inner.git("add", "-A")
        inner.commit("one")
    for place in ("mod", ""):
        above = Repo(repo.root / place)
        above.git("add", "-A")
        above.commit("submodule")
    for place in ("mod", "mod/deep"):
        Repo(repo.root / place).put("a.py", "after\n")
    return repo


IN_SUBMODULES = {"mod/a.py", "mod/deep/a.py"}


@cases(
    "command",
    [
        *("git reset --hard", "git checkout -f", "git switch -f main", "git checkout -- .", "git restore ."),
        *("git config submodule.recurse true && git reset --hard", "git submodule update --force"),
        *("git -c submodule.recurse=true reset --hard", "git reset --hard --recurse-submodules"),
        "git submodule foreach git reset --hard",
    ],
)
def test_changes_in_submodules_are_lost_where_git_works_in_them(nested: Repo, command: str) -> None:
    nested.git("config", "submodule.recurse", "false")
    if "submodule" not in command:
        assert not IN_SUBMODULES & nested.paths(command)
        nested.git("config", "submodule.recurse", "true")
    assert nested.paths(command) >= IN_SUBMODULES
    losses = at_stake(command, nested.root, Workspace(nested.root)).losses
    assert "mod/a.py, mod/deep/a.py" in describe_losses(losses)


def test_submodules_that_git_leaves_alone_lose_nothing(nested: Repo) -> None:
    nested.git("config", "submodule.recurse", "true")
    assert (
        at_stake("git reset --hard --no-recurse-submodules", nested.root, Workspace(nested.root)).losses == ()
    )
    nested.git("config", "submodule.recurse", "false")
    assert at_stake("git reset --hard", nested.root, Workspace(nested.root)).losses == ()


@cases(("command", "paths"), [*GIT, *FILE_COMMANDS])
def test_what_is_at_stake(repo: Repo, command: str, paths: set[str]) -> None:
    assert repo.paths(command) == paths
    assert repo.lost(command) or paths == {"build"}


@pytest.mark.exhaustive
@cases("command", HIDDEN)
def test_it_is_found_wherever_it_stands(repo: Repo, command: str) -> None:
    assert "new.txt" in repo.paths(command)
    assert "new.txt" in repo.lost(command)


@cases("command", HARMLESS)
def test_nothing_is_at_stake(repo: Repo, command: str) -> None:
    assert repo.stake(command) == AtStake()


@pytest.mark.exhaustive
def test_nothing_is_changed_by_looking(repo: Repo) -> None:
    def state() -> object:
        return {
            path: (path.stat().st_mtime_ns, path.read_bytes())
            for path in repo.root.rglob("*")
            if path.is_file()
        }

    before = state()
    for command, _ in [*GIT, *FILE_COMMANDS]:
        repo.stake(command)
    assert state() == before


def test_what_builds_make_again_is_no_loss(repo: Repo) -> None:
    repo.put(".gitignore", "build/\nnode_modules/\n__pycache__/\n.venv/\n")
    for name in ("node_modules/a/b.js", "src/__pycache__/a.pyc", ".venv/bin/x"):
        repo.put(name, "x\n")
    for name in ("build", "node_modules", "src/__pycache__", ".venv", "build node_modules"):
        assert repo.lost(f"rm -rf {name}") == ""
    assert repo.paths("rm -rf build") == {"build"}
    assert repo.lost("rm src/__pycache__/a.pyc") == ""


def test_what_only_has_the_name_of_a_build_is_a_loss(repo: Repo) -> None:
    repo.put("dist/mine.txt", "x\n")
    assert (
        repo.lost("rm -rf dist")
        == "permanently deletes the untracked file dist/mine.txt; permanently deletes the directory dist/ (1 file)"
    )
    repo.put("build/.env", "KEY=1\n")
    assert repo.lost("rm -rf build") == "permanently deletes the git-ignored directory build/ (2 files)"
    repo.put("debug.log", "x\n")
    assert repo.lost("rm debug.log") == "permanently deletes the git-ignored file debug.log"


@cases(
    ("command", "what"),
    [
        (
            "git reset --hard",
            "permanently discards uncommitted changes in 3 files: changed.py, src/changed.py, staged.py",
        ),
        ("git checkout changed.py", "permanently discards uncommitted changes in the file changed.py"),
        (
            "rm changed.py new.txt",
            "permanently discards uncommitted changes in the file changed.py; permanently deletes the untracked file new.txt",
        ),
        ("rm -rf build", ""),
        (
            "rm -rf src",
            "permanently discards uncommitted changes in the file src/changed.py; permanently deletes the directory src/ (2 files)",
        ),
        ("rm -rf $DIR", "permanently deletes files whose names are known only at run time"),
        ("ls | xargs rm", "permanently deletes files whose names are known only at run time"),
        ("rm -rf /etc", "permanently deletes /etc, outside the project"),
        (
            "git push --force origin main",
            "permanently deletes commits that origin has but that are not in the push",
        ),
        ("git push -f", "permanently deletes commits that the remote has but that are not in the push"),
        ("git push origin +main", "permanently deletes commits that origin has but that are not in the push"),
        ("git push origin :old", "permanently deletes commits that origin has but that are not in the push"),
        (
            "git push --force-with-lease",
            "permanently deletes commits that the remote has but that are not in the push",
        ),
        ("git reflog expire --all", "permanently deletes commits that are no longer on any branch"),
        ("git gc --prune=now", "permanently deletes commits that are no longer on any branch"),
        (
            "git filter-branch x",
            "permanently deletes the current history of the repository: every commit is rewritten",
        ),
        ("dd if=x of=$DISK", "permanently deletes files whose names are known only at run time"),
    ],
)
def test_what_would_be_lost_is_told(repo: Repo, command: str, what: str) -> None:
    assert repo.lost(command) == what


def test_many_files_are_counted_and_some_named(repo: Repo) -> None:
    for number in range(12):
        repo.put(f"many/{number:02}.txt", "x")
    assert repo.lost("rm many/*") == (
        "permanently deletes 12 untracked files: many/00.txt, many/01.txt, many/02.txt, many/03.txt, many/04.txt and 7 more"
    )


def test_names_are_shown_as_they_are(repo: Repo) -> None:
    repo.put("a\x1b[2J\nb.txt", "x")
    repo.put('é\'ü "x".txt', "x")
    assert repo.lost("rm a*") == "permanently deletes the untracked file a\\x1b[2J\\nb.txt"
    assert repo.paths("git clean -f") >= {"a\x1b[2J\nb.txt", 'é\'ü "x".txt'}


def test_stashes_and_branches(repo: Repo) -> None:
    repo.git("-c", "user.name=a", "-c", "user.email=a@b", "stash", "-m", "half done")
    repo.git("checkout", "-qb", "feature")
    repo.put("f.txt", "x")
    repo.git("add", "f.txt")
    repo.commit("two")
    repo.git("checkout", "-q", "main")
    assert repo.lost("git stash drop") == "permanently deletes 1 stash (stash@{0}: On main: half done)"
    assert repo.lost("git stash clear") == "permanently deletes 1 stash (stash@{0}: On main: half done)"
    assert repo.stake("git stash drop 1") == AtStake()
    assert (
        repo.lost("git branch -D feature")
        == "permanently deletes the branch feature: 1 commit in no other branch"
    )
    assert repo.lost("git branch --delete --force feature")
    repo.git("tag", "keep", "feature")
    assert repo.stake("git branch -D feature") == AtStake()
    assert (
        repo.lost("git branch -D $B") == "permanently deletes branches whose names are known only at run time"
    )


def test_without_git_every_file_counts(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.txt").write_text("x")
    (root / "b.txt").write_text("x")
    stake = at_stake("rm a.txt b.txt", root, Workspace(root))
    assert describe_losses(stake.losses) == "permanently deletes 2 unversioned files: a.txt, b.txt"
    assert (
        describe_losses(at_stake("git reset --hard", root, Workspace(root)).losses)
        == "permanently deletes all uncommitted changes"
    )
    assert (
        describe_losses(at_stake("git clean -fd", root, Workspace(root)).losses)
        == "permanently deletes untracked files"
    )


def test_a_link_goes_itself_and_what_it_leads_to_is_written(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("precious")
    (repo.root / "link").symlink_to(outside)
    (repo.root / "inner").symlink_to("new.txt")
    assert repo.paths("rm link") == {"link"}
    assert repo.lost("echo x > link") == f"permanently deletes {outside}, outside the project"
    assert repo.paths("echo x > inner") == {"new.txt"}


def test_paths_outside_are_named_and_not_kept(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x").write_text("x")
    for command in ("rm -rf ../other", f"rm -rf {tmp_path}/other", "cd .. && rm -rf other"):
        stake = repo.stake(command)
        assert stake.paths == ()
        assert describe_losses(stake.losses) == f"permanently deletes {tmp_path}/other, outside the project"


def test_home_is_known(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(repo.root))
    for command in ("rm ~/new.txt", "rm $HOME/new.txt", 'rm "$HOME"/new.txt', 'rm "${HOME}/new.txt"'):
        assert repo.paths(command) == {"new.txt"}
    assert repo.paths("rm '~/new.txt'") == set()


def test_a_directory_of_the_command_is_where_words_are_looked_up(repo: Repo) -> None:
    assert repo.paths("rm deep/new.txt", cwd="fresh") == {"fresh/deep/new.txt"}
    assert repo.paths("git checkout .", cwd="src") == {"src/changed.py"}


def test_a_repositorys_own_programs_are_not_run(repo: Repo, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(program))
    repo.git("config", "filter.x.clean", str(program))
    repo.git("config", "filter.x.process", str(program))
    repo.git("config", "filter.x.required", "true")
    repo.put(".gitattributes", "*.py filter=x\n")
    os.utime(repo.root / "clean.py", (1, 1))
    for command in ("git reset --hard", "git clean -fd", "rm *", "git stash drop", "git checkout ."):
        repo.stake(command)
        assert not mark.exists()
    assert repo.paths("git reset --hard") >= CHANGED


@pytest.mark.parametrize(
    "command", ["sudo " * 50 + "rm new.txt", "$(" * 50 + "rm new.txt" + ")" * 50, "eval " * 50 + "rm new.txt"]
)
def test_what_is_nested_too_deeply_is_asked_about(repo: Repo, command: str) -> None:
    assert "nested too deeply" in repo.lost(command)


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
@cases(
    "command",
    [
        *(
            "rm '" + "x" * 20_000,
            "$(" * 10_000,
            "`" * 20_001,
            "((((" * 6_000,
            '"' * 20_001,
            "<<E " * 6_000,
        ),
        *(
            "sudo " * 5_000 + "rm x",
            "eval " * 5_000,
            "${" * 10_000,
            "rm {a,b}" * 5_000,
            "rm " + "{a,b}" * 5000,
        ),
        *(
            "rm " + "*/" * 1000,
            "\\" * 20_001,
            "find . -exec " * 2000,
            "rm \0",
            "rm \ud800",
            "> \0",
            "git -C \0 reset --hard",
        ),
        *("cd x; " * 5_000, "rm " + "a" * 5000, "rm " + "a/" * 5000 + "b", "\n" * 20_000),
    ],
)
def test_no_command_is_too_odd_to_be_looked_at(repo: Repo, command: str) -> None:
    repo.stake(command)
