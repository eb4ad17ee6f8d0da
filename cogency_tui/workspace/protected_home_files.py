"""Places in the home directory of files that run, or instruct an agent, without being named.

A path is a file; one that ends with `*` means the files in a directory, with `**` those below it. Small
directories that are rarely written are included whole.
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_KEYS = """
    .ssh/authorized_keys .ssh/authorized_keys2 .ssh/config .ssh/environment .ssh/rc .ssh/config.d/*
    .gnupg/gpg.conf .gnupg/gpg-agent.conf .gnupg/dirmngr.conf .gnupg/scdaemon.conf
"""
"""Files that control who may log in, and start programs for SSH and GnuPG."""

_BIN = """
    bin/* .local/bin/* .cargo/bin/* go/bin/* .deno/bin/* .bun/bin/* .volta/bin/* .npm-global/bin/*
    .pyenv/shims/* .rbenv/shims/* .nodenv/shims/* .asdf/shims/* .local/share/mise/shims/*
    .local/share/pnpm/*
"""
"""Directories of programs that are found by their names."""

_SHELLS = """
    .config/fish/config.fish .config/fish/conf.d/* .config/fish/functions/* .config/zsh/*
    .config/nushell/* .config/mise/* .config/direnv/* .cargo/env .bashrc.d/* .zshrc.d/* .zsh/**
    .bash_completion.d/* .config/bash/* .config/fish/completions/*
    .local/share/bash-completion/completions/* .oh-my-zsh/oh-my-zsh.sh .oh-my-zsh/lib/*
    .oh-my-zsh/custom/** .nvm/nvm.sh .nvm/bash_completion .sdkman/bin/* .config/starship.toml
    .config/xonsh/** .config/elvish/** .elvish/* .config/powershell/* .config/yash/*
    .config/user-dirs.dirs .rvm/scripts/* .asdf/asdf.sh .bash_it/custom/**
"""
"""Files that shells source when they start, or complete."""

_DESKTOP = """
    .config/autostart/* .config/environment.d/* .config/systemd/user/** .local/share/systemd/user/**
    Library/LaunchAgents/* .config/plasma-workspace/env/* .config/plasma-workspace/shutdown/*
    .config/autostart-scripts/* .kde/env/* .kde/Autostart/* .config/lxsession/** .config/openbox/*
    .config/awesome/** .config/i3/* .i3/* .config/sway/** .config/hypr/** .config/bspwm/* .config/sxhkd/*
    .config/qtile/* .config/river/* .config/niri/* .config/labwc/* .config/waybar/** .config/polybar/**
    .config/dunst/* .xmonad/* .config/containers/systemd/** .local/share/dbus-1/services/*
    .mozilla/native-messaging-hosts/* .config/google-chrome/NativeMessagingHosts/*
    .config/chromium/NativeMessagingHosts/*
"""
"""Files that desktops run when the user logs in, or when a program asks for a service."""

_EDITORS = """
    .config/nvim/** .config/helix/* .config/emacs/** .config/doom/** .config/tmux/* .emacs.d/init.el
    .emacs.d/early-init.el .vim/vimrc .vim/plugin/* .vim/after/plugin/* .config/alacritty/*
    .config/kitty/* .config/wezterm/** .config/ghostty/* .config/foot/* .config/zellij/**
    .local/share/nvim/site/plugin/* .local/share/nvim/site/after/** .local/share/nvim/site/pack/**
    .vim/autoload/* .vim/ftplugin/* .vim/pack/** .doom.d/** .spacemacs.d/** .config/kak/** .config/micro/*
    .config/nano/* .config/Code/User/* .config/VSCodium/User/* .config/Cursor/User/* .config/zed/*
    .vscode/argv.json .config/sublime-text/Packages/User/**
"""
"""Files that terminals and editors run, or that name what they run."""

_PROGRAMS = """
    .config/git/config .config/git/attributes .cargo/config .cargo/config.toml
    .ipython/profile_default/startup/* .config/git/hooks/* .config/git/template/** .git-template/**
    .git-templates/** .config/hg/hgrc .config/gdb/* .gradle/init.gradle .gradle/init.gradle.kts
    .gradle/init.d/* .m2/extensions.xml .docker/cli-plugins/* .node_modules/** .node_libraries/**
    .julia/config/* .ghc/* .ipython/profile_default/ipython_config.py .config/mpv/scripts/**
    .config/mpv/mpv.conf .config/mpv/input.conf .config/irb/irbrc .config/pry/pryrc
    .config/ptpython/config.py .config/utop/init.ml .config/swi-prolog/init.pl
    .jupyter/jupyter_server_config.py .jupyter/jupyter_lab_config.py .jupyter/jupyter_config.py
    .config/gh/config.yml .config/lazygit/config.yml .config/bat/config .config/ranger/* .config/lf/*
    .config/vifm/*
"""
"""Files that programs run when they start, or that name what they run."""

_AGENTS = """
    .claude/settings.json .claude/settings.local.json .claude/CLAUDE.md .claude/commands/**
    .claude/agents/** .claude/skills/** .claude/hooks/* .codex/config.toml .codex/AGENTS.md
    .codex/AGENTS.override.md .codex/prompts/* .codex/rules/* .codex/skills/** .gemini/settings.json
    .gemini/GEMINI.md .gemini/commands/** .cursor/mcp.json .cursor/hooks.json .cursor/rules/**
    .cursor/commands/* .copilot/mcp-config.json .qwen/settings.json .qwen/QWEN.md .config/opencode/**
    .config/crush/* .config/goose/* .config/AGENTS.md .config/amp/settings.json .config/amp/AGENTS.md
    .agents/** .codeium/windsurf/mcp_config.json .codeium/windsurf/memories/* .continue/rules/*
    .continue/mcpServers/* .continue/config.ts .vibe/config.toml .vibe/agents/* .vibe/prompts/*
    .copilot/agents/* .kiro/settings/* .kiro/steering/* .factory/mcp.json .factory/AGENTS.md
    .factory/commands/* .factory/droids/* .augment/rules/* .augment/commands/* .roo/rules/*
    .aws/amazonq/mcp.json .aws/amazonq/cli-agents/* .junie/* .trae/mcp.json
"""
"""Files with instructions for agents, or names of programs that agents start."""

_LISTED = tuple(
    place
    for group in (_KEYS, _BIN, _SHELLS, _DESKTOP, _EDITORS, _PROGRAMS, _AGENTS)
    for place in group.split()
)


def at_home(home: Path, projects: Iterable[Path]) -> tuple[str, ...]:
    """Return all places, with the directories of `PATH` that are in `home`.

    Directories that installers write in ordinary work are left out: those of the projects, and of the
    active virtual environment.
    """
    search, environment = (os.environ.get(name, "") for name in ("PATH", "VIRTUAL_ENV"))
    real = os.path.realpath(home)
    outside = (str(each) for each in projects if not Path(real).is_relative_to(each))
    return _with_searched(search, environment, str(home), real, *outside)


@lru_cache(maxsize=64)
def _with_searched(search: str, environment: str, home: str, real: str, *projects: str) -> tuple[str, ...]:
    found = dict.fromkeys(_LISTED)
    for path in (Path(os.path.normpath(each)) for each in search.split(os.pathsep) if each):
        for top in (home, real):
            if not path.is_relative_to(top) or path == Path(top):
                continue
            below = path.relative_to(top)
            is_active = bool(environment) and path.is_relative_to(os.path.normpath(environment))
            if not is_active and not any(Path(real, below).is_relative_to(each) for each in projects):
                found[f"{below}/*"] = None
    return tuple(found)
