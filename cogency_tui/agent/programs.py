"""What rules for commands know of programs: which are always asked about, and how far a rule may reach.

Data, by name in lower case. What is not named here may have a rule by its first word.
"""

import re
from collections.abc import Mapping

_LAUNCHERS = """
    at batch busybox bwrap catchsegv chroot chrt crontab dbus-run-session doas entr env expect fakeroot
    firejail flock gdb ionice lldb ltrace nice nohup nsenter numactl parallel perf pkexec proot
    proxychains rlwrap runuser screen script setpriv setsid stdbuf strace su sudo systemd-run taskset
    time timeout tmux torsocks toybox unbuffer unshare valgrind watch xargs xvfb-run
"""
"""Programs that run something else, or as somebody else."""

_SHELL = """
    . alias ash bash bg bind builtin case cd command complete coproc csh dash declare disown do done
    elif else enable esac eval exec exit export fg fi fish for function hash if in kill ksh let local
    mapfile popd pushd pwsh rbash read readarray readonly return select set sh shift shopt source tcsh
    then trap typeset ulimit umask unalias unset until wait while zsh
"""
"""Shells, and words of the shell that run or change something else."""

_INTERPRETED = """
    awk bc dc deno ed emacs erl ex gawk ghci gnuplot iex info ipython irb jshell less m4 man mariadb
    mawk mongo mongosh more mysql nano nawk nvim octave osascript pico psql r redis-cli sed sqlite3
    tclsh vi vim wish
"""
"""Editors, pagers and interpreters whose arguments can be a program."""

_NETWORK = """
    ansible ansible-playbook apk apt apt-get aptitude aria2c aws az brew bunx conda curl dig dnf dpkg
    easy_install firebase flatpak fly flyctl ftp gcloud gem gh glab helm heroku host http https lftp
    links lynx mamba mosh nc ncat netcat netlify nix nix-build nix-env nix-shell npx nslookup pacman
    ping pipx port pulumi rpm rsync scp sendmail sftp snap socat ssh telnet terraform tofu twine uvx
    vercel wget wrangler xh yum zypper
"""
"""Programs that go to the network, to other machines, or fetch programs from there."""

_FINAL_PROGRAMS = """
    7z blkdiscard bzip2 chattr chgrp chmod chown cp cpio dd dropdb fdisk gunzip gzip halt hg insmod
    install iptables jj killall launchctl ln mkfs mkswap modprobe mount mv nft open parted passwd pkill
    poweroff reboot rm rmdir service setfacl sfdisk sgdisk shred shutdown srm svn sysctl systemctl tar
    tee truncate ufw umount unlink unzip useradd usermod visudo wipe wipefs xdg-open xz zip
"""
"""Programs whose work cannot be taken back."""

ALWAYS_ASKED = frozenset("".join((_LAUNCHERS, _SHELL, _INTERPRETED, _NETWORK, _FINAL_PROGRAMS)).split())
"""Programs that no rule is ever for."""

FINAL = re.compile(
    r"clean|deploy|destroy|drop|exec|install|login|nuke|prune|publish|purge|push|release|remove|reset|upload|wipe"
)
"""What the name of a target or script says that is asked about each time."""

SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "cargo": frozenset(
        ("bench", "build", "check", "clippy", "doc", "fmt", "metadata", "run", "test", "tree", "version")
    ),
    "docker": frozenset(("images", "info", "inspect", "logs", "ps", "version")),
    "git": frozenset(
        ("add", "blame", "branch", "commit", "describe", "diff", "grep", "log", "ls-files", "rev-parse")
        + ("shortlog", "show", "status")
    ),
    "go": frozenset(("build", "doc", "fmt", "list", "test", "version", "vet")),
    "kubectl": frozenset(("describe", "explain", "get", "logs", "top", "version")),
    "pip": frozenset(("check", "freeze", "list", "show")),
    "pip3": frozenset(("check", "freeze", "list", "show")),
    "podman": frozenset(("images", "info", "inspect", "logs", "ps", "version")),
    "uv": frozenset(("tree",)),
}
"""Programs of many commands: those that a rule of two words may be for."""

TWO_WORDS = frozenset(
    ("bazel", "bundle", "cabal", "composer", "dart", "dotnet", "flutter", "hatch", "lerna", "mix", "nx")
    + ("pdm", "pipenv", "poetry", "pre-commit", "rails", "rye", "stack", "swift", "turbo", "zig")
)
"""Others of many commands: a rule is for two words, where the second names nothing final."""

RUNNING = frozenset(("config", "console", "eval", "repl", "run", "runner", "shell", "x"))
"""Second words that run what follows."""

TARGETS = frozenset(
    ("ant", "gmake", "gradle", "gradlew", "just", "make", "mvn", "mvnw", "ninja", "rake", "task")
)
"""Programs that build what they are told to: a rule is for one target."""

SCRIPTS = frozenset(("bun", "npm", "pnpm", "yarn"))
"""Programs that run scripts of a package: a rule is for one script."""

RUNNERS = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("bundle", "exec"))
)
"""Words that run what follows in the project's environment: a rule is for that."""

INTERPRETERS = re.compile(r"(?:python|pypy|node|ruby|perl|php|lua|julia|rscript)[\d.]*")
SCRIPT_NAMES = re.compile(r"[\w./-]+\.(?:py|js|mjs|cjs|rb|pl|php|lua|jl|r)", re.IGNORECASE)
MODULES = frozenset(
    ("basedpyright", "black", "compileall", "flake8", "isort", "mypy", "pylint", "pyright", "pytest", "ruff")
    + ("unittest",)
)
"""What `python -m` may run under a rule."""

DENIED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "branch": ("DdMmCcfu", ("delete", "move", "copy", "force", "edit-description", "set-upstream-to")),
    "cargo": ("ZC", ("config", "manifest-path", "target-dir")),
    "cmake": ("EP", ()),
    "fd": ("xX", ("exec", "exec-batch")),
    "fdfind": ("xX", ("exec", "exec-batch")),
    "find": ("", ("exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls")),
    "git": (
        "O",
        (
            "output",
            "ext-diff",
            "textconv",
            "open-files-in-pager",
            "upload-pack",
            "exec",
            "no-index",
            "contents",
        ),
    ),
    "go": ("", ("exec", "toolexec", "vettool", "overlay", "modfile", "C", "o", "cpuprofile", "memprofile")),
    "kubectl": ("", ("kubeconfig", "server", "token", "as", "cache-dir")),
    "pip": ("", ("python", "log", "cache-dir")),
    "pip3": ("", ("python", "log", "cache-dir")),
    "rg": ("", ("pre", "hostname-bin")),
    "sort": ("oT", ("output", "compress-program", "temporary-directory")),
    "tree": ("o", ("output",)),
    "uv": (
        "pif",
        ("python", "index", "default-index", "index-url", "extra-index-url", "find-links", "config-file"),
    ),
}
"""Letters and names of options with which a program does more than a rule for it is meant for."""
