"""What runs from the user's home directory without being named is watched; what is written all the time is not."""

import os
from pathlib import Path

import pytest

from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.directory_listing import Listing
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import desk_at, settle

RUNNING = (
    *(
        ".bash_completion",
        ".local/share/bash-completion/completions/git",
        ".config/fish/completions/git.fish",
    ),
    *(
        ".oh-my-zsh/custom/x.zsh",
        ".oh-my-zsh/custom/plugins/x/x.plugin.zsh",
        ".zsh/x.zsh",
        ".zsh/history.zsh",
        ".nvm/nvm.sh",
    ),
    *(".fzf.bash", ".fzf.zsh", ".sdkman/bin/sdkman-init.sh", ".config/starship.toml", ".gnomerc", ".aliases"),
    *(".config/plasma-workspace/env/x.sh", ".kde/env/x.sh", ".config/lxsession/LXDE/autostart"),
    *(".config/i3/config", ".config/sway/config", ".config/hypr/hyprland.conf", ".config/openbox/autostart"),
    *(".config/containers/systemd/x.container", ".local/share/dbus-1/services/x.service"),
    *(".config/xonsh/rc.xsh", ".xonshrc", ".config/elvish/rc.elv", ".config/powershell/profile.ps1"),
    *(".forward", ".procmailrc", ".mailcap", ".local/share/nvim/site/plugin/x.vim", ".selected_editor"),
    *(".local/share/nvim/site/pack/x/start/y.vim", ".config/gdb/gdbinit", ".gradle/init.gradle", ".yarnrc"),
    *(".gradle/init.d/x.gradle", ".docker/cli-plugins/docker-x", ".node_modules/fs-extra/index.js"),
    *(".julia/config/startup.jl", ".pdbrc.py", ".doom.d/init.el", ".config/hg/hgrc", ".sbclrc", ".perldb"),
    *(
        ".config/Code/User/tasks.json",
        ".config/Cursor/User/settings.json",
        ".vscode/argv.json",
    ),
    *(".config/mpv/scripts/x.lua", ".mozilla/native-messaging-hosts/x.json", ".config/kitty/kitty.conf"),
    *(".config/alacritty/alacritty.toml", ".wezterm.lua", ".config/git/hooks/pre-commit", ".nanorc"),
    *(".codeium/windsurf/mcp_config.json", ".continue/mcpServers/x.yaml", ".vibe/config.toml"),
    *(".config/amp/settings.json", ".config/AGENTS.md", ".kiro/steering/x.md", ".agents/skills/x/SKILL.md"),
    *(".config/gh/config.yml", ".jupyter/jupyter_server_config.py", ".bashrc.d/x", ".config/user-dirs.dirs"),
)
WRITTEN = (
    *(".local/share/app/x", ".config/app/x", ".gradle/caches/x", ".docker/config.json", ".m2/repository/x"),
    *(
        ".vscode/extensions/extensions.json",
        ".zsh/.zsh_history",
        ".zsh/cache/x",
        ".nvm/versions/x",
        ".mozilla/firefox/x/prefs.js",
        ".m2/settings.xml",
    ),
    *(".config/Code/User/globalStorage/x", ".config/Code/Cache/x", ".julia/packages/x", ".yarnrc.yml"),
    *(".config/git/credentials", ".config/gh/hosts.yml", ".local/share/nvim/shada/x", ".sdkman/candidates/x"),
    *(".config/mpv/watch_later/x", ".jupyter/lab/x", ".continue/index/x", ".oh-my-zsh/cache/x"),
    *(".config/zsh/.zsh_history", ".config/zsh/.zcompdump", ".config/nushell/history.sqlite3-wal"),
    *(
        ".config/vifm/vifminfo.json",
        ".ghc/ghci_history",
        ".config/emacs/eln-cache/x",
        ".config/emacs/recentf",
    ),
    *(".local/share/fish/fish_history", ".zsh_history", ".zcompdump", ".python_history", ".lesshst"),
)


def _command(names: tuple[str, ...]) -> str:
    return "; ".join(f"mkdir -p $(dirname ~/{name}); echo evil > ~/{name}" for name in names)


@pytest.mark.exhaustive
async def test_what_runs_is_put_back(tmp_path: Path, sealed_home: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        found, _ = await watched(desk, _command(RUNNING))
    assert sorted(found.put_back) == sorted(str(sealed_home / name) for name in RUNNING)
    assert not any((sealed_home / name).exists() for name in RUNNING)


@pytest.mark.exhaustive
async def test_what_is_written_all_the_time_stays(tmp_path: Path, sealed_home: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        found, asked = await watched(desk, _command(WRITTEN))
    assert (asked, found.put_back) == ([], [])
    assert all((sealed_home / name).exists() for name in WRITTEN)


@pytest.mark.exhaustive
def test_other_files_at_home_cost_nothing(sealed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counted(path: str) -> bool:
        nonlocal looked
        looked += 1
        return lexists(path)

    lexists = os.path.lexists
    monkeypatch.setattr("os.path.lexists", counted)
    counts: list[int] = []
    for many in (1, 250, 1000):
        for number in range(many):
            path = sealed_home / f".local/share/app{number % 20}/{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        looked = 0
        assert list(protected_file_discovery.at_home(Listing())) == []
        counts.append(looked)
    assert len(set(counts)) == 1
    assert counts[0] < 40


def test_links_are_resolved_once_for_a_directory(sealed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = 0

    def counted(path: str | Path) -> str:
        nonlocal resolved
        resolved += 1
        return realpath(path)

    realpath = os.path.realpath
    monkeypatch.setattr("os.path.realpath", counted)
    (sealed_home / ".local/bin").mkdir(parents=True)
    counts: list[int] = []
    for many in (100, 400):
        for number in range(many):
            (sealed_home / f".local/bin/{number}").touch()
        resolved = 0
        assert len(list(protected_file_discovery.at_home(Listing()))) == many
        counts.append(resolved)
    assert counts[0] == counts[1]
