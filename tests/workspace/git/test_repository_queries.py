"""What git says of files, and what it holds of them: never taken for what the file holds where it may not be."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from cogency_tui.workspace.git.repository_queries import Repository

DATA = bytes(range(256)) * 100


class Project:
    """A repository with one commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.put("data.bin", DATA)
        self.put("sub/text.txt", b"one\ntwo\n")
        self.put("odd\nname", b"x")
        self.commit()

    def put(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", "--allow-empty")

    def git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True).stdout

    def held(self, *paths: str, below: str = ".") -> dict[str, bytes]:
        """What git has of the files that it says are unchanged."""
        repository = Repository(self.root / below)
        found: dict[str, bytes] = {}
        for path, name in repository.unchanged(paths).items():
            with (self.root / ".git/answer").open("w+b") as file:
                assert repository.read(name, file)
                file.seek(0)
                found[path] = file.read()
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_unchanged_files_are_held_byte_for_byte(project: Project) -> None:
    paths = ("data.bin", "sub/text.txt", "odd\nname")
    assert project.held(*paths) == {"data.bin": DATA, "sub/text.txt": b"one\ntwo\n", "odd\nname": b"x"}
    assert project.held("data.bin") == {"data.bin": DATA}
    assert project.held("text.txt", "data.bin", below="sub") == {"text.txt": b"one\ntwo\n"}


def test_what_is_not_as_the_index_has_it_is_left_out(project: Project) -> None:
    project.put("data.bin", DATA[::-1])
    project.put("untracked", b"x")
    os.utime(project.root / "sub/text.txt", (1, 1))
    (project.root / "odd\nname").unlink()
    assert project.held("data.bin", "untracked", "sub/text.txt", "odd\nname", "not there") == {}


def test_what_is_staged_is_held_as_it_was_staged(project: Project) -> None:
    project.put("data.bin", b"staged")
    project.git("add", "data.bin")
    assert project.held("data.bin") == {"data.bin": b"staged"}


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_left_out(project: Project, flag: str) -> None:
    project.git("update-index", flag, "data.bin")
    project.put("data.bin", b"changed unseen")
    assert project.held("data.bin", "sub/text.txt") == {"sub/text.txt": b"one\ntwo\n"}


@pytest.mark.parametrize("attribute", ["filter=x", "working-tree-encoding=UTF-16"])
def test_what_is_converted_is_left_out(project: Project, attribute: str) -> None:
    project.git("config", "filter.x.clean", "tr a-z n-za-m")
    project.git("config", "filter.x.smudge", "tr a-z n-za-m")
    project.put(".gitattributes", f"*.txt {attribute}\n".encode())
    project.put("sub/text.txt", "one\ntwo\n".encode("utf-16"))
    project.commit()
    assert project.held("sub/text.txt", "data.bin") == {"data.bin": DATA}


def test_a_setting_that_lets_git_look_less_closely_does_not_count(project: Project) -> None:
    path = project.root / "sub/text.txt"
    os.utime(path, ns=(10**18, 10**18))
    project.git("config", "core.checkStat", "minimal")
    project.git("config", "core.trustctime", "false")
    project.commit()
    # Git goes by whole seconds.
    time.sleep(1 - path.stat().st_ctime % 1)
    path.write_bytes(b"ONE\nTWO\n")
    os.utime(path, ns=(10**18, 10**18))
    assert project.git("status", "--porcelain") == b""
    assert project.held("sub/text.txt") == {}


def test_a_directory_without_git_has_nothing(tmp_path: Path) -> None:
    assert Repository(tmp_path).unchanged(["a"]) == {}
    assert not Repository(tmp_path).dirty


def test_an_object_that_is_not_there_cannot_be_read(project: Project) -> None:
    with (project.root / "x").open("w+b") as file:
        assert not Repository(project.root).read("0" * 40, file)


def test_nothing_is_fetched_for_a_partial_clone(project: Project, tmp_path: Path) -> None:
    project.git("config", "uploadpack.allowFilter", "true")
    project.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    source = f"file://{project.root}"
    subprocess.run(
        ["git", "clone", "-q", "--filter=blob:none", "--no-checkout", source, str(clone)],
        check=True,
        capture_output=True,
    )
    name = project.git("rev-parse", "HEAD:data.bin").decode().strip()
    with (tmp_path / "x").open("w+b") as file:
        assert not Repository(clone).read(name, file)
    # Git by itself does fetch it.
    subprocess.run(["git", "cat-file", "blob", name], cwd=clone, check=True, capture_output=True)


def test_keys_are_not_in_the_environment_of_git(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("ODD", "not known to be a key")
    assert not Repository(project.root).dirty
    seen = (tmp_path / "seen").read_text()
    assert "PATH=" in seen
    assert "ODD" not in seen
    assert "secret" not in seen


_PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
    *("core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "diff.evil.command"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver"),
    *(
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gpg.ssh.defaultKeyCommand",
    ),
    *("credential.helper", "sequence.editor", "interactive.diffFilter", "uploadpack.packObjectsHook"),
    *("tar.tgz.command", "trailer.evil.command", "trailer.evil.cmd", "pager.status", "pager.stash"),
    *("pager.config", "pager.ls-files", "pager.rev-list", "browser.evil.cmd", "man.evil.cmd", "remote.o.vcs"),
    *("difftool.evil.cmd", "mergetool.evil.cmd", "sendemail.smtpServer", "hook.evil.command", "help.browser"),
)
_SWITCHES = {
    "log.showSignature": "true",
    "format.pretty": "%G? %GS %h",
    "pretty.evil": "%G?",
    "log.diff": "true",
    "core.attributesFile": "../attributes",
    "hook.evil.event": "post-index-change",
    "extensions.worktreeConfig": "true",
    "status.submoduleSummary": "true",
    "diff.submodule": "log",
    "protocol.ext.allow": "always",
    "remote.o.url": "ext::sh -c touch% canary",
    "url.ext::sh -c touch% canary.insteadOf": "https://",
    "include.path": "../more",
}
_SIGNED = """tree {tree}
parent {parent}
author a <a@b> 1700000000 +0000
committer a <a@b> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 Version: 1
 iQEzBAABCAAdFiEE
 -----END PGP SIGNATURE-----

On main: signed
"""


@pytest.fixture
def hostile(project: Project, tmp_path: Path) -> Project:
    """A repository whose configuration names a program wherever one can be named, with a signed stash."""
    canary = tmp_path / "canary.sh"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/canary\n')
    canary.chmod(0o755)
    project.put(".gitattributes", b"* diff=evil filter=evil merge=evil\n")
    project.put("sub/text.txt", b"changed\n")
    names = project.git("rev-parse", "HEAD^{tree}", "HEAD").decode().split()
    commit = _SIGNED.format(tree=names[0], parent=names[1])
    made = (
        subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
            cwd=project.root,
            input=commit.encode(),
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    project.git("update-ref", "--create-reflog", "-m", "On main: signed", "refs/stash", made)
    for hook in ("post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout"):
        (project.root / ".git/hooks").mkdir(exist_ok=True)
        (project.root / f".git/hooks/{hook}").write_bytes(canary.read_bytes())
        (project.root / f".git/hooks/{hook}").chmod(0o755)
    project.put("more", f'[filter "evil"]\n\tclean = {canary}\n'.encode())
    settings = [*((name, str(canary)) for name in _PROGRAMS), *_SWITCHES.items()]
    for name, value in settings:
        project.git("config", name, value)
    return project


@pytest.mark.exhaustive
def test_nothing_runs_that_a_hostile_repository_names(hostile: Project, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    # Git by itself runs it.
    subprocess.run(["git", "stash", "list"], cwd=hostile.root, capture_output=True, check=False)
    assert "--verify" in canary.read_text()
    canary.unlink()
    repository = Repository(hostile.root)
    assert repository.root == hostile.root
    assert repository.status()
    assert repository.dirty
    assert repository.entries(untracked=True)
    assert repository.entries_at(["sub"])
    assert repository.cleaned(["-d", "-x"], []) is not None
    assert repository.stashes() == ["stash@{0}: On main: signed"]
    assert repository.commits_only_in("main") == 0
    assert repository.unchanged(["data.bin", "sub/text.txt"]) == {}
    name = hostile.git("rev-parse", "HEAD:data.bin").decode().strip()
    canary.unlink(missing_ok=True)
    with (tmp_path / "x").open("w+b") as file:
        assert repository.read(name, file)
    assert not canary.exists()


def test_a_repository_without_stashes_has_none(project: Project) -> None:
    assert Repository(project.root).stashes() == []
