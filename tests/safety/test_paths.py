"""Paths, as a model would name them: what is outside is neither read nor written, and nothing hangs."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.safety.arena import SECRET, Arena, block

ROOT = os.geteuid() == 0


@pytest.fixture
def trapped(arena: Arena) -> Arena:
    """A project full of links, special files and odd names."""
    project, outside = arena.project, arena.outside
    for name, target in {
        "link": outside,
        "link.txt": outside / "secret.txt",
        "dangling": outside / "missing.txt",
        "zero": Path("/dev/zero"),
        "tty": Path("/dev/tty"),
        "root": Path("/"),
        "chain": project / "link",
        "self": project / "self",
        "inner": project / "src",
        "environment": Path("/proc/self/environ"),
        "memory": Path("/proc/self/mem"),
    }.items():
        (project / name).symlink_to(target)
    for name in ("a..b.txt", "src/etc/x", "...", "..hidden", " space", "src/loop-file", "ü\u0301.txt"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine\n")
    (project / "src" / "loop").symlink_to(project)
    (project / "src" / "upwards").symlink_to("../..")
    os.mkfifo(project / "fifo")
    os.mkfifo(project / "src" / ".gitignore")
    (outside / "shared.txt").write_text("shared\n")
    os.link(outside / "shared.txt", project / "hard.txt")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(project / "socket"))
    listener.close()
    (project / "binary").write_bytes(bytes(range(256)) * 40)
    return arena


def outward(arena: Arena) -> dict[str, str]:
    """Paths to what is outside the project, and what the refusal says."""
    outside, asked = "outside the project", "no user is available to approve it"
    name = arena.project.name
    return {
        "../outside/secret.txt": outside,
        "src/../../outside/secret.txt": outside,
        "./src/./.././../outside/secret.txt": outside,
        f"../{name}-evil/secret.txt": outside,
        f"../{name}/../outside/secret.txt": outside,
        "link/secret.txt": outside,
        "link.txt": outside,
        "link/../secret.txt": "",
        "chain/secret.txt": outside,
        "dangling": outside,
        "src/loop/link/secret.txt": outside,
        "src/upwards/outside/secret.txt": outside,
        "root/etc/passwd": outside,
        f"root{arena.outside}/secret.txt": outside,
        "zero": outside,
        "tty": outside,
        "environment": outside,
        "memory": outside,
        "../../../../../../../../etc/passwd": outside,
        f"{arena.outside}/secret.txt": asked,
        f"//{arena.outside}/secret.txt": asked,
        f"{arena.evil}/secret.txt": asked,
        f"{arena.project}-evil/secret.txt": asked,
        f"{arena.project}/../outside/secret.txt": asked,
        f"{arena.project}/link.txt": outside,
        "~/.ssh/id_rsa": asked,
        "/etc/passwd": asked,
        "/dev/zero": asked,
        "/proc/self/environ": asked,
        f"/proc/self/root{arena.outside}/secret.txt": asked,
        f"/proc/self/cwd/../{arena.outside.name}/secret.txt": asked,
        "/dev/fd/0": asked,
    }


NOWHERE = {
    "": "empty",
    "a\0b": "NUL",
    "plain.txt\0.png": "NUL",
    "x" * 5000: "too long",
    "x/" * 2500 + "x": "too long",
    "x" * 300: "too long",
    "é" * 200: "too long",
    "\ud800": "surrogate",
    "plain.txt/x": "",
    "plain.txt/../../outside/secret.txt": "outside the project",
    "file:///etc/passwd": "no such file",
    "..\\outside\\secret.txt": "no such file",
    "%2e%2e/outside/secret.txt": "no such file",
    "~root/.bashrc": "no such file",
    "$HOME/.ssh/id_rsa": "no such file",
    "`id`": "no such file",
    "self": "",
    "self/x": "",
    "fifo": "",
    "socket": "",
    "src": "director",
    ".": "director",
    "..": "outside the project",
    "\u00fc\u0301.txx": "no such file",
    "plain.txt\u202e": "",
    "plain\u200b.txt": "",
    "ｐlain.txt": "no such file",
}
"""Paths that lead nowhere, and what is said of each."""

OWN = ("a..b.txt", "src/etc/x", "...", "..hidden", " space", "inner/etc/x", "src/loop/a..b.txt", "./a..b.txt")


async def test_reading(trapped: Arena) -> None:
    refused = outward(trapped) | NOWHERE
    calls = [("read", {"file": path}) for path in [*refused, *OWN]]

    ran = await trapped.converse([block(*calls), "Done."])

    assert ran.answer == "Done."
    for path, said, result in zip(refused, refused.values(), ran.results, strict=False):
        assert result["error"], path
        assert said in result["outcome"], (path, result["outcome"])
    for path, result in zip(OWN, ran.results[len(refused) :], strict=True):
        assert not result["error"], (path, result["outcome"])
        assert "mine" in str(result["content"])
    assert SECRET not in ran.stdout + ran.stderr


async def test_writing(trapped: Arena) -> None:
    paths = [
        path for path in outward(trapped) | NOWHERE if path not in NOWHERE or NOWHERE[path] != "no such file"
    ]
    paths += ["hard.txt/../../outside/secret.txt", "link/new.txt", "dangling/new.txt", "src/upwards/new.txt"]
    calls = [("write", {"file": path, "content": "owned", "overwrite": True}) for path in paths]
    calls += [("edit", {"file": path, "old": "secret", "new": "owned"}) for path in outward(trapped)]

    ran = await trapped.converse([block(*calls), "Done."])

    for (name, args), result in zip(calls, ran.results, strict=True):
        assert result["error"], (name, args["file"])
    assert SECRET not in ran.stdout + ran.stderr


@pytest.mark.exhaustive
async def test_what_reads_many_files_keeps_to_the_project(trapped: Arena) -> None:
    calls = [
        *(("find", {"content": "the-secret", "path": path}) for path in (".", "src", "src/loop")),
        *(("find", {"content": ".*", "path": path}) for path in ("link", "..", "root", "../outside")),
        *(("find", {"pattern": pattern}) for pattern in ("../**", "**/secret*", "/etc/*", "link/*")),
        *(("list", {"path": path, "depth": 50}) for path in (".", "src/loop", "link", "root", "..", "zero")),
        *(
            ("replace", {"pattern": pattern, "old": "secret", "new": "owned"})
            for pattern in ("**/*", "../**/*", "link/*", "/**/secret.txt", "~/**")
        ),
    ]

    ran = await trapped.converse([block(*calls), "Done."])

    assert ran.answer == "Done."
    said = [
        str(result) for (name, _args), result in zip(calls, ran.results, strict=True) if name != "replace"
    ]
    assert not any(SECRET in each for each in said)


async def test_a_file_that_is_one_with_a_file_outside_is_replaced_and_not_written_through(
    trapped: Arena,
) -> None:
    calls = [
        ("edit", {"file": "hard.txt", "old": "shared", "new": "mine"}),
        ("write", {"file": "hard.txt", "content": "ours", "overwrite": True}),
        ("replace", {"pattern": "hard.txt", "old": "ours", "new": "all ours"}),
    ]

    ran = await trapped.converse([*(block(call) for call in calls), "Done."])

    assert not any(result["error"] for result in ran.results)
    assert (trapped.project / "hard.txt").read_text() == "all ours"
    assert (trapped.outside / "shared.txt").read_text() == "shared\n"


async def test_expressions_that_never_end_are_ended(arena: Arena) -> None:
    (arena.project / "long.txt").write_text("a" * 60 + "!\n")
    # A search has a minute; here the person has had enough of it before.
    ran = await arena.converse(
        [
            block(
                ("find", {"pattern": "*" * 200 + "b"}),
                ("find", {"pattern": "{" * 200 + "}" * 200}),
                ("find", {"content": "(" * 5000 + ")" * 5000}),
                ("find", {"content": "a{1000}{1000}{1000}"}),
                ("find", {"content": "(?P<x>a)(?P<x>b)"}),
                ("replace", {"pattern": "*.txt", "old": "(a)(", "new": "\\9", "regex": True}),
                ("replace", {"pattern": "*.txt", "old": "", "new": "x"}),
                ("replace", {"pattern": "plain.txt", "old": "", "new": "x", "regex": True}),
            ),
            "Done.",
        ]
    )
    assert ran.answer == "Done."
    assert len(ran.results) == 8
    assert all(result["error"] or "no " in result["outcome"].lower() for result in ran.results[:6])


PROTECTED = (
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/hooks/x",
    ".gIt/config",
    "src/.git/config",
    ".git./config",
    ".git /config",
    "git~1/config",
    ".g\u200cit/config",
    "inner/.git/config",
    "gitdir/hooks/post-checkout",
    ".cogency/config.toml",
    ".cogency/commands/x.md",
    ".Cogency/config.toml",
    "AGENTS.md",
    "agents.md",
    "src/AGENTS.md",
    "CLAUDE.md",
    ".bashrc",
    ".zshenv",
    ".envrc",
    ".profile",
    ".github/copilot-instructions.md",
    "line\nbreak.txt",
    "esc\x1b[2J.txt",
    "gnp\u202etxt.exe",
    "zero\u200bwidth.txt",
    "csi\x9b2J.txt",
)


async def test_what_is_protected_is_asked_for_in_every_mode(trapped: Arena) -> None:
    project = trapped.project
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / "gitdir").symlink_to(project / ".git")
    before = set(project.rglob("*"))
    calls = [("write", {"file": path, "content": "owned", "overwrite": True}) for path in PROTECTED]

    ran = await trapped.converse([block(*calls), "Done."])

    assert ran.status == 1
    for path, result in zip(PROTECTED, ran.results, strict=True):
        assert result["error"], path
        assert "no user is available to approve it" in result["outcome"], (path, result["outcome"])
    assert set(project.rglob("*")) == before


@pytest.mark.skipif(ROOT, reason="permission bits do not stop root")
async def test_what_cannot_be_read_is_told(arena: Arena) -> None:
    closed = arena.project / "closed"
    closed.mkdir()
    (closed / "x").write_text(SECRET)
    closed.chmod(0)
    ran = await arena.converse(
        [block(("read", {"file": "closed/x"}), ("list", {}), ("find", {"content": "x"}))]
    )
    closed.chmod(0o700)
    assert ran.results[0]["error"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps two names in one step")
async def test_a_directory_that_is_swapped_for_a_link_all_the_time_leads_nowhere(arena: Arena) -> None:
    swapper = (
        "import ctypes, os, sys, time\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "while os.getppid() != 1:\n"
        "    if libc.renameat2(-100, b'dir', -100, b'swap', 2): sys.exit(1)\n"
        "    time.sleep(0.01)\n"
    )
    (arena.project / "dir").mkdir()
    (arena.project / "dir" / "secret.txt").write_text("mine\n")
    (arena.project / "swap").symlink_to(arena.outside)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", swapper, cwd=arena.project)
    try:
        calls = [("read", {"file": "dir/secret.txt"}), ("write", {"file": "dir/new.txt", "content": "owned"})]
        calls += [("edit", {"file": "dir/secret.txt", "old": "the-secret", "new": "owned"})]
        met = set[bool]()
        # Until both were met: the directory, and the link in its place.
        while met != {False, True}:
            ran = await arena.converse([block(*calls * 30), "Done."])
            assert len(ran.results) == 90
            assert SECRET not in ran.stdout
            met |= {result["error"] for result in ran.results[::3]}
    finally:
        assert process.returncode is None
        process.kill()
        await process.wait()
