"""Paths outside the project that need no question, and those that look like them."""

import os
import re
import socket
import tempfile
from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell import files_outside_project
from cogency_tui.tools.shell.files_outside_project import is_own_temporary, is_public
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files, beside the project."""
    place = tmp_path / "temporary"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(files_outside_project, "_STARTED", 0.0)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    root.mkdir()
    (root / "a").write_text("x")
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


@cases(
    "command",
    [
        "ls /usr/bin",
        "ls -la /usr/bin /usr/lib",
        "cat /etc/os-release",
        "cat /proc/cpuinfo /proc/meminfo",
        "find /usr/include -name '*.h'",
        "which ls",
        "file /usr/bin/env",
        "grep -c processor /proc/cpuinfo",
        "gcc -I/usr/include -L/usr/lib x.c",
        "head /etc/services",
    ],
)
def test_what_the_system_has_for_all_is_read_unasked(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.brings) == ("", "")


@cases(
    "command",
    [
        "cat /etc/shadow",
        "cat /etc/passwd",
        "cat /etc/hosts",
        "cat /etc/ssh/ssh_config",
        "ls /etc",
        "ls /etc/ssl/private",
        "cat /proc/1/environ",
        "cat /proc/self/environ",
        "cat /proc/self/maps",
        "ls /root/.ssh",
        "ls ~/.ssh",
        "ls -R ~",
        "cat ~/.bashrc",
        "ls /home",
        "ls /",
        "cp /usr/bin/env x",
        "cat /usr/bin/env > x",
        "ln -s /usr/bin/env x",
        "touch /usr/share/x",
        "echo x > /etc/os-release",
        "sed -i s/a/b/ /usr/lib/os-release",
        "cp a /usr/bin/",
        "tar -C /usr/lib -xf a",
        "cat /usr/../etc/shadow",
        "cat /proc/cpuinfo/../1/environ",
    ],
)
def test_the_rest_is_asked_about(project: Path, command: str) -> None:
    assert of(project, command).outside


def test_names_of_keys_and_files_of_users_are_not_public(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "/etc/ssl/private",
        "/usr/local/etc/credentials",
        "/usr/share/x/id_rsa",
        "/usr/lib/server.key",
    ):
        assert not is_public(Path(name))
    monkeypatch.setattr(files_outside_project, "_PLACES", re.compile(r".*"))
    file = tmp_path / "file"
    file.write_text("x")
    assert is_public(file) is (file.stat().st_uid == 0)
    file.chmod(0o600)
    assert not is_public(file)
    file.chmod(0o666)
    assert not is_public(file)
    os.mkfifo(tmp_path / "pipe")
    assert not is_public(tmp_path / "pipe")


def test_the_home_directory_is_listed_and_what_it_lists_may_bring_text(project: Path) -> None:
    found = of(project, "ls ~")
    assert (found.outside, found.brings) == ("", "")
    assert found.could_bring == str(Path.home().resolve())


def test_temporary_files_of_the_user_s_own_are_written_and_read(project: Path, temporary: Path) -> None:
    (temporary / "own").write_text("x")
    (temporary / "folder/sub").mkdir(parents=True)
    for command in ("echo x > {0}/new", "mkdir -p {0}/new/sub", "cp a {0}/folder/sub/x", "tee {0}/own < a"):
        assert of(project, command.format(temporary)).outside == ""
    found = of(project, f"cat {temporary}/own")
    assert (found.outside, found.brings, found.could_bring) == ("", "", f"{temporary}/own")
    for command in (
        "f=$(mktemp); echo x > $f; cat $f",
        "d=$(mktemp -d); cp a $d/x",
        'd="$(mktemp -d)" && ls "$d"',
    ):
        found = of(project, command)
        assert (found.outside, found.protected, found.brings) == ("", "", "")
    assert not at_stake(f"rm -rf {temporary}/own {temporary}/folder", project, Workspace(project)).losses


def test_what_others_may_have_put_there_is_not(project: Path, temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (temporary / "link").symlink_to(tmp_path / "secret")
    (temporary / "open").mkdir()
    (temporary / "open").chmod(0o777)
    (temporary / "shared").write_text("x")
    (temporary / "shared").chmod(0o666)
    os.link(tmp_path / "secret", temporary / "hard")
    os.mkfifo(temporary / "pipe")
    (temporary / "other/.git").mkdir(parents=True)
    (temporary / "nested/deep/.git").mkdir(parents=True)
    for name in ("link", "open/x", "shared", "hard", "pipe", "other/x", "other", "nested", ""):
        assert of(project, f"cat {temporary}/{name}").outside, name
        assert not is_own_temporary((temporary / name).resolve(), project), name
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(temporary)
        listening.bind("s")
        os.chdir(project)
    assert of(project, f"cat {temporary}/s").outside
    if os.geteuid() == 0:
        (temporary / "theirs").write_text("x")
        os.chown(temporary / "theirs", 12345, 12345)
        assert of(project, f"cat {temporary}/theirs").outside


def test_what_was_there_before_the_program_started_is_not(
    project: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / "old").write_text("x")
    monkeypatch.setattr(files_outside_project, "_STARTED", (temporary / "old").stat().st_ctime + 1000)
    assert of(project, f"cat {temporary}/old").outside
    assert "outside the project" in describe_losses(
        at_stake(f"rm {temporary}/old", project, Workspace(project)).losses
    )
    assert of(project, f"echo x > {temporary}/new").outside == ""


def test_a_directory_for_all_without_protection_is_none(project: Path, temporary: Path) -> None:
    temporary.chmod(0o777)
    assert of(project, f"echo x > {temporary}/new").outside


def test_the_neighbours_of_a_project_that_is_temporary_itself_are_not(temporary: Path) -> None:
    root = temporary / "work/project"
    root.mkdir(parents=True)
    (temporary / "work/beside").write_text("x")
    assert of(root, "cat ../beside").outside
    assert of(root, f"echo x > {temporary}/new").outside == ""
