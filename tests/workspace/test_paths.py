"""Confinement: what is inside, what is asked for by its full path, and what is refused."""

from pathlib import Path

import pytest

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@cases(
    ("given", "relative"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../a.py", "a.py"),
        ("a..b.txt", "a..b.txt"),
        ("..hidden", "..hidden"),
        ("src/etc/x", "src/etc/x"),
        ("~name", "~name"),
        ("a/~/b", "a/~/b"),
        (".", "."),
        ("src/", "src"),
        ("naïve/日本.txt", "naïve/日本.txt"),
        ("with space.txt", "with space.txt"),
    ],
)
def test_relative_paths_are_of_the_project(workspace: Workspace, given: str, relative: str) -> None:
    location = workspace.locate(given)
    assert location.inside
    assert location.relative == relative
    assert location.path == (workspace.root / relative)


@cases("given", ["../x", "..", "src/../../x", "../proj-evil/x", "a/b/../../../etc/passwd"])
def test_relative_path_that_leaves_the_project_is_refused(workspace: Workspace, given: str) -> None:
    with pytest.raises(WorkspaceError, match="outside the project") as caught:
        workspace.locate(given)
    assert "full path" in caught.value.hint


def test_directory_with_the_projects_name_as_its_prefix_is_outside(workspace: Workspace) -> None:
    evil = workspace.root.with_name(f"{workspace.root.name}-evil")
    evil.mkdir()
    location = workspace.locate(str(evil / "x"))
    assert not location.inside
    assert location.relative == str(evil / "x")


def test_absolute_path_inside_is_inside(workspace: Workspace) -> None:
    location = workspace.locate(str(workspace.root / "src" / "a.py"))
    assert location.inside
    assert location.relative == "src/a.py"


def test_absolute_path_outside_is_located_there(workspace: Workspace, tmp_path: Path) -> None:
    location = workspace.locate(str(tmp_path / "other.txt"))
    assert not location.inside
    assert location.path == tmp_path / "other.txt"


def test_absolute_path_that_climbs_out_is_outside(workspace: Workspace, tmp_path: Path) -> None:
    location = workspace.locate(f"{workspace.root}/../other.txt")
    assert not location.inside
    assert location.path == tmp_path / "other.txt"


def test_outside_path_through_a_link_is_shown_where_it_leads(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert workspace.locate(str(tmp_path / "alias" / "x")).relative == str(tmp_path / "real" / "x")


@pytest.mark.parametrize("absolute", [False, True])
def test_link_that_leads_out_is_refused(workspace: Workspace, tmp_path: Path, absolute: bool) -> None:
    (tmp_path / "outside").mkdir()
    (workspace.root / "link").symlink_to(tmp_path / "outside")
    given = "link/x"
    with pytest.raises(WorkspaceError, match="symbolic link") as caught:
        workspace.locate(str(workspace.root / given) if absolute else given)
    assert str(tmp_path / "outside" / "x") in str(caught.value)


def test_parent_of_a_link_is_the_parent_of_what_it_leads_to(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (workspace.root / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceError):
        workspace.locate("link/../secret")


def test_dangling_link_to_outside_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "link").symlink_to(tmp_path / "not-there")
    with pytest.raises(WorkspaceError, match="symbolic link"):
        workspace.locate("link")


def test_link_inside_the_project_leads_to_its_target(workspace: Workspace) -> None:
    (workspace.root / "real.py").write_text("x")
    (workspace.root / "alias.py").symlink_to("real.py")
    location = workspace.locate("alias.py")
    assert location.inside
    assert location.relative == "real.py"
    assert workspace.read_bytes(location, 10) == b"x"


def test_links_in_a_circle_lead_nowhere(workspace: Workspace) -> None:
    (workspace.root / "one").symlink_to("two")
    (workspace.root / "two").symlink_to("one")
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(workspace.locate("one"), 10)


def test_directory_that_links_to_itself_is_no_trap(workspace: Workspace) -> None:
    (workspace.root / "loop").symlink_to(".")
    (workspace.root / "x").write_text("x")
    assert workspace.locate("loop/loop/loop/x").relative == "x"


def test_root_given_through_a_link_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    workspace = Workspace(tmp_path / "alias")
    assert workspace.root == tmp_path / "real"
    assert workspace.locate(str(tmp_path / "alias" / "a.py")).relative == "a.py"


def test_added_directory_is_inside_under_its_full_path(project: Path, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    location = Workspace(project, [extra]).locate(str(extra / "a.py"))
    assert location.inside
    assert location.relative == str(extra / "a.py")


def test_project_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "none"):
        with pytest.raises(WorkspaceError, match="not a directory"):
            Workspace(path)
    with pytest.raises(WorkspaceError, match="not a directory"):
        Workspace(tmp_path, [tmp_path / "file"])


def test_home_is_expanded_only_in_front(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    location = workspace.locate("~/notes.txt")
    assert not location.inside
    assert location.path == tmp_path / "home" / "notes.txt"


@cases(
    ("given", "told"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("x" * 5000, "too long"),
        ("x/" * 2500, "too long"),
        ("y" * 256, "too long"),
        ("\ud800", "surrogate"),
    ],
)
def test_name_that_no_file_can_have_is_refused(workspace: Workspace, given: str, told: str) -> None:
    with pytest.raises(WorkspaceError, match=told) as caught:
        workspace.locate(given)
    assert len(str(caught.value)) < 400
    str(caught.value).encode()


def test_control_characters_are_shown_escaped(workspace: Workspace) -> None:
    assert workspace.locate("a\n\x1b[2Jb").relative == "a\\n\\x1b[2Jb"


def test_name_that_is_no_text_is_shown_escaped(workspace: Workspace) -> None:
    (workspace.root / "caf\udce9").write_text("x")
    location = workspace.locate("caf\udce9")
    assert location.relative == "caf\\udce9"
    assert workspace.read_bytes(location, 10) == b"x"


@cases(
    "given",
    [
        ".git/hooks/pre-commit",
        ".GIT/hooks/x",
        ".Git/config",
        ".git",
        "sub/.git/config",
        ".git. /config",
        ".g\u200cit/config",
        ".ｇit/config",
        "git~1/config",
        ".cogency/config.toml",
        ".bashrc",
        "home/.zshrc",
        ".Profile",
        "AGENTS.md",
        "agents.MD",
        "docs/CLAUDE.md",
        ".cursorrules",
        ".github/copilot-instructions.md",
        ".rvmrc",
        "mise.toml",
        ".mise.toml",
        "mise.local.toml",
        ".mise.production.toml",
        ".mise/config.toml",
        ".config/mise/config.toml",
        ".tool-versions",
        ".autoenv",
        ".autoenv.zsh",
        "sub/.ycm_extra_conf.py",
        ".lvimrc",
        ".vim/ftplugin/x.vim",
        ".nvim/init.lua",
        ".ghci",
        ".iex.exs",
        ".ocamlinit",
        ".octaverc",
        ".erlang",
        ".cargo/config",
        ".cargo/config.toml",
        "sub/.cargo/config.toml",
        ".helix/languages.toml",
        ".hgrc",
        "HEAD",
        "sub/HEAD",
        ".config/git/config",
        ".config/nvim/init.lua",
        ".config/fish/config.fish",
        ".config/systemd/user/x.service",
        ".config/environment.d/x.conf",
        ".local/bin/ls",
        ".emacs.d/init.el",
        ".ssh/authorized_keys",
        "bell\x07.txt",
        "two\nlines",
        "csi\x9b",
        "evil\u202egnp.exe",
        "zero\u200bwidth",
    ],
)
def test_writing_there_is_protected(workspace: Workspace, given: str) -> None:
    assert workspace.guard(workspace.locate(given))


@cases(
    "given",
    [
        *(
            "src/a.py",
            ".gitignore",
            ".github/workflows/ci.yml",
            "git/hooks/x",
            "my.git.txt",
            "naïve 日本.txt",
        ),
        *("head.py", "HEAD.md", "hooks/use.ts", "config", "refs/a.bib", "objects/a.obj", "promise.toml"),
        *(
            "cargo/config.toml",
            ".config/app.toml",
            "local/bin/x",
            "bin/x",
            ".gitattributes",
            "compromise.toml",
        ),
    ],
)
def test_writing_there_is_not_protected(workspace: Workspace, given: str) -> None:
    assert workspace.guard(workspace.locate(given)) == ""


@pytest.mark.parametrize("name", ["config", "hooks/post-checkout", "info/attributes", "refs/heads/x", "HEAD"])
def test_a_bare_repository_is_protected(workspace: Workspace, name: str) -> None:
    bare = workspace.root / "deep/bare"
    for below in ("objects", "refs"):
        (bare / below).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main")
    assert workspace.guard(workspace.locate(f"deep/bare/{name}"))
    assert workspace.guard(workspace.locate("deep/bare/README.md")) == ""
    assert workspace.guard(workspace.locate("deep/config")) == ""


def test_what_would_complete_a_bare_repository_is_protected(workspace: Workspace) -> None:
    bare = workspace.root / "bare"
    (bare / "objects").mkdir(parents=True)
    assert workspace.guard(workspace.locate("bare/refs/heads/x")) == ""
    (bare / "HEAD").write_text("ref: refs/heads/main")
    assert "repository" in workspace.guard(workspace.locate("bare/refs/heads/x"))


def test_guard_sees_through_a_link(workspace: Workspace) -> None:
    (workspace.root / ".git").mkdir()
    (workspace.root / "innocent").symlink_to(".git")
    assert workspace.guard(workspace.locate("innocent/config"))


def test_guard_sees_what_was_asked_for_through_a_link(workspace: Workspace) -> None:
    (workspace.root / "store").mkdir()
    (workspace.root / ".git").symlink_to("store")
    assert workspace.guard(workspace.locate(".git/config"))


def test_missing_file_is_told_with_its_nearest_neighbour(workspace: Workspace) -> None:
    (workspace.root / "src").mkdir()
    (workspace.root / "src" / "parser.py").write_text("")
    with pytest.raises(WorkspaceError, match="no such file") as caught:
        workspace.read_bytes(workspace.locate("src/parsers.py"), 10)
    assert "Did you mean src/parser.py?" in caught.value.hint


def test_twin_in_another_unicode_form_is_named(workspace: Workspace) -> None:
    (workspace.root / "cafe\u0301.txt").write_text("")
    with pytest.raises(WorkspaceError) as caught:
        workspace.read_bytes(workspace.locate("caf\u00e9.txt"), 10)
    assert "cafe\u0301.txt" in caught.value.hint
    assert "other characters" in caught.value.hint
