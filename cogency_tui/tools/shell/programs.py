"""The table of the shell's programs: each one once, with all that is known about it.

`PROGRAMS` has the facts about a program, `GIT` those about a command of git, `NETWORK_COMMANDS` the network
commands of programs with many, and `options_of` options with a meaning of their own. Each module of this
package asks the table by a fact, and has no list of programs of its own. The options that a permission rule
may allow are in `tools/shell/rule_options.py`.

Invariant: a program that is missing here may do anything.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, cast

Fact = Literal[
    "launcher",  # runs another program, or as another user
    "wrapper",  # runs the program that its arguments name, found by its options of the role `wrapping`
    "led",  # of these, one with a word before the program
    "plain-wrapper",  # does nothing else
    "shell",  # is a shell
    "posix",  # of these, one whose language `scanner.py` reads
    "builtin",  # a word of the shell that runs or changes something else
    "known-builtin",  # a word of the shell whose effects are known, whatever file has its name
    "interpreter",  # an argument can be a program
    "awk",  # its language is awk
    "network",  # contacts the network or other machines, or installs what comes from there
    "client",  # of these, one that code may run by its name
    "fetches",  # of these, one whose visits of this machine are known
    "unproxied",  # of these, one that uses no proxy
    "reader",  # prints untrusted content of the network
    "destructive",  # its work cannot be undone
    "formats",  # creates a file system or a partition table
    "writer",  # writes the files that it names
    "creates",  # creates files with names from its arguments
    "copies",  # writes its last operand
    "removes",  # removes its operands
    "patches",  # writes files whose names a text has
    "unpacks",  # creates files with names that are not in the command
    "moves-links",  # may move a link to another directory unchanged
    "words",  # its arguments are no files
    "text",  # treats names as text
    "prints",  # writes no file but that of an option for its output; without `writer`, others may write each
    "lists",  # lists the directories in its arguments
    "status",  # shows a file's status, and not its content
    "entry",  # reads and writes nothing through a link
    "enters",  # changes to the directory in its arguments
    "reads",  # reads the files in its arguments
    "files-only",  # reads no directory by default
    "pattern-first",  # its first operand is surely no file, but a pattern or a script
    "pattern-option",  # its option `-e` has a pattern or a script
    "mode-first",  # its first operand is a mode, an owner or a script
    "confined",  # reads and writes files that its arguments name, and nothing else
    "written-out",  # as `confined`, where its arguments are written out and no option starts a program
    "inert",  # opens no file named in its arguments
    "of-git",  # runs where git brings commits
    "beside",  # may run beside a transfer of git without a doubt
    "acts",  # brings nothing, but evaluates its arguments, starts another program, or ends others
    "starts",  # an option or a script may start another program
    "runs-text",  # its arguments or its input may contain commands
    "joins",  # has a shell run its arguments
    "takes-code",  # runs the text behind its option `-c`
    "evaluates",  # a word of the shell that runs its arguments, or parses them as the shell does
    "sources",  # of these, one that runs them in the same shell
    "declares",  # sets variables, with their values in its arguments
    "names",  # takes names of variables; the shell evaluates a subscript in one
    "subscripts",  # the shell evaluates a subscript in its arguments
    "copied",  # no client, but may be used like one under another name
    "any-option",  # a rule may allow it, with any option
    "attached",  # reads a letter's value from the rest of its word
    "module",  # `python -m` may run it under a rule
    "scripts",  # runs scripts of a package
    "runs-git",  # runs git: the project's hooks and git's configuration decide about it, too
]
"""A fact about a program."""

_PROGRAMS: Mapping[str, str] = {
    "launcher": """
        busctl bwrap capsh catchsegv chpst chrt daemonize dbus-launch dbus-run-session dbus-send dumb-init
        eatmydata entr expect faketime firejail gdbus heaptrack linux32 linux64 logsave ltrace mpiexec mpirun
        mprof nsenter numactl pkexec prlimit proot proxychains proxychains4 py-spy rlwrap run-parts runcon
        scriptreplay setarch setpriv softlimit ssh-agent sshpass systemd-inhibit taskset tini torsocks toybox
        unshare valgrind xvfb-run
    """,
    "launcher wrapper": "doas fakeroot ionice setsid stdbuf strace sudo unbuffer",
    "launcher wrapper led": "chroot",
    "launcher wrapper plain-wrapper": "nice nohup xargs",
    "launcher wrapper led plain-wrapper": "timeout",
    "launcher wrapper plain-wrapper known-builtin": "time",
    "launcher wrapper plain-wrapper inert": "env",
    "launcher wrapper runs-text": "parallel",
    "launcher wrapper joins": "watch",
    "launcher wrapper led takes-code": "flock",
    "launcher wrapper copied": "busybox",
    "launcher interpreter runs-text": "gdb lldb",
    "launcher destructive": "systemctl",
    "launcher unpacks reads written-out starts": "split",
    "launcher runs-text": """
        at batch crontab gdbserver hyperfine perf screen start-stop-daemon systemd-run tmux toolbox watchexec
        watchman zellij
    """,
    "launcher runs-text takes-code": "script su",
    "launcher takes-code": "runuser sg",
    "wrapper plain-wrapper builtin known-builtin": "command",
    "wrapper builtin": "builtin exec",
    "shell": "csh nu pwsh rbash tcsh xonsh",
    "shell posix": "ash bash dash fish ksh sh zsh",
    "builtin": """
        bg case disown do done elif else esac fg fi for function if in select then unalias until while
    """,
    "builtin known-builtin words inert": "exit",
    "builtin known-builtin prints enters confined beside": "cd",
    "builtin known-builtin confined inert subscripts": "wait",
    "builtin known-builtin confined acts": "kill",
    "builtin known-builtin inert": "set",
    "builtin words inert acts declares names subscripts": "export",
    "builtin text inert names subscripts": "read",
    "builtin prints": "popd",
    "builtin prints enters": "pushd",
    "builtin prints reads evaluates sources": ". source",
    "builtin inert": "return shift shopt ulimit umask",
    "builtin inert runs-text evaluates": "trap",
    "builtin inert declares names subscripts": "declare local readonly typeset",
    "builtin inert names subscripts": "unset",
    "builtin runs-text": "coproc",
    "builtin runs-text evaluates": "alias bind complete enable hash",
    "builtin evaluates sources": "eval",
    "builtin evaluates subscripts": "let",
    "builtin names subscripts": "getopts mapfile readarray",
    "known-builtin words status inert beside subscripts": "test",
    "known-builtin words inert beside subscripts": "[",
    "known-builtin words inert beside any-option": "echo false true",
    "known-builtin words inert subscripts": "printf",
    "known-builtin prints confined": "type",
    "known-builtin prints inert beside any-option": "pwd",
    "interpreter": """
        R Rscript bc bpython clojure deno elixir erl gdl ghci groovy guile iex info ipython irb jshell julia
        kotlinc lua luajit mariadb most nano node ocaml octave osascript php pico pry pypy python r racket
        ruby sbcl scala swipl tclsh ts-node tsx wish
    """,
    "interpreter awk reads files-only pattern-first pattern-option starts": "awk gawk",
    "interpreter awk reads files-only pattern-option starts": "mawk nawk",
    "interpreter network": "mongo mongosh mysql redis-cli",
    "interpreter network runs-text": "psql",
    "interpreter writer reads files-only pattern-first pattern-option mode-first starts": "sed",
    "interpreter prints reads files-only": "less more",
    "interpreter prints starts": "man",
    "interpreter reads runs-text": "ed nvim vi view vim",
    "interpreter starts": "sqlite3",
    "interpreter runs-text": "dc emacs emacsclient ex gnuplot m4 vimdiff",
    "interpreter copied": "perl",
    "interpreter scripts": "bun",
    "network": """
        ab aichat aider amp ansible ansible-galaxy ansible-playbook apk apt apt-get aptitude arping autossh
        aws axel az azcopy b2 bower brew browsh bunx bzr certbot chromium claude cloudflared codex cogency-tui
        conda copilot cpan cpanm croc cursor-agent cvs darcs dbclient dnf doctl drill easy_install finger
        firebase firefox flatpak fly flyctl fossil fping gcloud gdown gemini google-chrome goose gpg2
        grpcurl gsutil hcloud helm heroku hf host hping3 httpx huggingface-cli hurl iperf iperf3 ipfs k6
        kaggle kdig kubectl kubectx ldapsearch llm logger lp lpr luarocks lwp-download lwp-request mail mailx
        mamba micromamba minikube mods mosh mosquitto_pub mosquitto_sub msmtp mtr mutt mysqldump ncu netlify
        ngrok nix nix-build nix-channel nix-env nix-shell nmap nping npx nsupdate ntpdate oc ollama opencode
        opkg pacman paru pg_dump pipx pkg pnpx port pssh pulumi rclone rdate resolvectl restic rexec rlogin
        rpm rsh rustup s3cmd sdk sendmail serverless sgpt siege skopeo snap snmpget snmpwalk sqlcmd
        ssh-copy-id ssh-keyscan sshfs steampipe supabase swaks tailscale tcpdump telegram-send terraform tofu
        tracepath traceroute trivy tshark twine unison uvx vagrant vercel wandb websocat whois wkhtmltopdf
        wormhole wrangler wrk yay youtube-dl yt-dlp yum zypper
    """,
    "network of-git": "gpg",
    "network client": "dig getent nslookup openssl ping",
    "network client fetches reader": "curl wget",
    "network client unproxied reader": "nc ncat netcat",
    "network client reader": "socat telnet",
    "network client reader starts": "sftp",
    "network client reader joins of-git": "ssh",
    "network client starts": "scp",
    "network reader": """
        aria2c curlie elinks ftp gh glab http httpie https lftp links links2 lynx ncftp smbclient tftp w3m
        wget2 xh xhs
    """,
    "network destructive": "dpkg mount svn xdg-open",
    "destructive": """
        chattr dropdb halt hg insmod iptables jj killall launchctl losetup mkfs modprobe nft open passwd pkill
        poweroff reboot service setfacl shutdown sysctl ufw umount useradd usermod visudo
    """,
    "destructive formats": "blkdiscard fdisk mkswap parted sfdisk sgdisk wipefs",
    "destructive writer": "shred wipe",
    "destructive writer creates copies moves-links reads": "install",
    "destructive writer creates copies moves-links reads confined": "cp mv",
    "destructive writer creates copies moves-links reads starts": "rsync",
    "destructive writer creates copies reads confined": "ln",
    "destructive writer creates reads": "dd",
    "destructive writer creates confined": "tee truncate",
    "destructive writer removes": "srm",
    "destructive writer removes entry confined": "rm",
    "destructive writer removes confined": "unlink",
    "destructive writer patches unpacks written-out acts": "patch",
    "destructive writer entry confined": "rmdir",
    "destructive writer mode-first": "chgrp chown",
    "destructive writer mode-first confined": "chmod",
    "destructive unpacks moves-links": "7z ar unrar",
    "destructive unpacks moves-links reads": "cpio",
    "destructive unpacks moves-links reads starts": "tar unzip",
    "destructive unpacks reads": "csplit gunzip",
    "destructive moves-links reads starts": "zip",
    "destructive reads": "bzip2 gzip xz zstd",
    "writer creates": "mkfifo mknod",
    "writer creates confined": "mkdir mktemp touch",
    "unpacks moves-links": "prename rename unar",
    "unpacks moves-links reads": "pax",
    "unpacks moves-links reads starts": "bsdtar",
    "unpacks reads": "bunzip2 unxz",
    "words confined any-option": "expr",
    "words inert acts subscripts": "[[",
    "text prints confined any-option": "basename dirname",
    "prints lists status confined beside any-option": "ls",
    "prints lists status confined any-option": "du",
    "prints status entry reads confined any-option": "readlink",
    "prints status entry confined any-option": "realpath stat",
    "prints status reads confined": "tree",
    "prints status reads written-out starts": "find",
    "prints reads": "bat cloc colordiff scc tokei wdiff",
    "prints reads files-only pattern-first pattern-option confined beside any-option": "grep",
    "prints reads files-only pattern-first pattern-option confined any-option": "egrep fgrep",
    "prints reads files-only confined": "rev",
    "prints reads files-only confined beside any-option": "cat head tail wc",
    "prints reads files-only confined any-option": """
        cksum cmp comm cut expand fmt fold hexdump join md5sum nl od paste sha1sum sha256sum sha512sum strings
        tac unexpand
    """,
    "prints reads files-only confined attached": "uniq",
    "prints reads files-only written-out starts attached": "sort",
    "prints reads files-only any-option": "b2sum base64 sha224sum sha384sum sum",
    "prints reads pattern-first": "ack ag",
    "prints reads pattern-first pattern-option written-out starts attached": "rg",
    "prints reads pattern-first written-out any-option": "jq",
    "prints reads written-out": "shellcheck",
    "prints reads written-out starts attached": "diff",
    "prints reads any-option": "pr tsort",
    "prints reads attached": "column",
    "prints files-only pattern-first confined any-option": "tr",
    "prints confined any-option": "df id nproc ps seq uname which whoami",
    "prints written-out attached": "date",
    "prints inert any-option": "printenv",
    "prints any-option": "arch getconf lsblk pgrep uptime",
    "prints attached": "fd",
    "status entry reads written-out starts attached": "file",
    "reads": "batcat bzcat iconv pandoc ptx xzcat yq zless zstdcat",
    "reads files-only": "base32 hd zcat zgrep",
    "reads files-only confined": "xxd",
    "reads confined": "shuf",
    "reads written-out": "gofmt",
    "confined": "yes",
    "confined beside": "sleep",
    "inert": "break continue",
    "inert beside": ":",
    "starts": "gmake make",
    "of-git patches starts copied attached runs-git": "git",
    "starts attached": "uv",
    "starts scripts": "npm",
    "any-option": "free lscpu numfmt",
    "attached": "cargo coverage docker nox pip podman tox",
    "attached runs-git": "pre-commit",
    "attached module": "black flake8 isort mypy pylint pytest ruff unittest",
    "module": "basedpyright compileall pyright",
    "scripts": "pnpm yarn",
    "scripts runs-git": "lerna turbo",
    "runs-git": "biome go golangci-lint jest nx vitest",
    "": """
        actionlint ant bazel bundle cabal cc clang clang++ clang-format cmake composer ctest dart dotnet
        eslint fdfind flutter g++ gcc gem gradle gradlew hadolint hatch just ktlint ld markdownlint meson
        mix mocha mvn mvnw ninja pdm phpstan phpunit pipenv poetry prettier rails rake rspec rubocop rustc
        rustfmt rye stack staticcheck stylelint swift swiftlint task tsc vue-tsc yamllint zig
    """,
}
"""Programs by their facts; each program is in one row."""

GitFact = Literal[
    "network",  # contacts another repository
    "confined",  # contacts none
    "reading",  # writes no file that it names
    "keeps-links",  # reads and writes nothing through the links in its arguments
    "keeps-names",  # writes, and every name was in the directory or in git before
    "moves-refs",  # a revision may be another one then, though it creates no files
    "patches",  # reads names of files from a text
    "brings",  # brings files of the project with commits
    "fetches",  # brings commits of other repositories
    "sends",  # sends what is there, or records it
    "looks",  # changes no file of the project
    "addresses",  # its arguments set the destination of transfers
]
"""A fact about a command of git."""

_GIT: Mapping[str, str] = {
    "addresses": "config",
    "brings": "bisect",
    "confined": "clean init symbolic-ref",
    "confined brings": "cherry-pick merge rebase revert stash switch worktree",
    "confined keeps-links brings": "checkout reset restore",
    "confined keeps-links keeps-names": "mv rm",
    "confined patches": "apply",
    "confined reading": """
        blame cat-file cherry describe diff-tree for-each-ref grep ls-tree name-rev rev-list shortlog show-ref
        whatchanged
    """,
    "confined reading keeps-links": "check-ignore",
    "confined reading keeps-links keeps-names sends": "add",
    "confined reading keeps-links looks": "log ls-files show",
    "confined reading keeps-names sends": "commit",
    "confined reading looks": "diff merge-base rev-parse status",
    "confined reading moves-refs": "notes reflog",
    "confined reading moves-refs looks": "tag",
    "confined reading moves-refs looks addresses": "branch",
    "network": """
        clone daemon fetch-pack http-fetch http-push imap-send instaweb lfs maintenance p4 request-pull
        send-email send-pack svn
    """,
    "network brings": "submodule",
    "network brings fetches": "pull",
    "network looks fetches": "fetch",
    "network reading": "ls-remote",
    "network reading keeps-names moves-refs sends": "push",
    "network reading moves-refs addresses": "remote",
    "patches": "am checkout-index fast-import mktree update-index",
    "reading": "diff-files diff-index range-diff verify-commit",
    "reading keeps-links": "check-attr",
    "": """
        archive bundle check-mailmap check-ref-format column commit-graph commit-tree count-objects
        fast-export fmt-merge-msg format-patch fsck gc hash-object help index-pack interpret-trailers mailinfo
        merge-file merge-tree pack-objects pack-refs patch-id prune read-tree repack replace rerere
        sparse-checkout stripspace unpack-objects update-ref update-server-info var verify-pack verify-tag
        version write-tree
    """,
}
"""Commands of git's own by their facts; any other word is an alias, or a program beside git."""


_NETWORK_COMMANDS: Mapping[str, str] = {
    "bun": "a add audit create i info install link outdated patch publish update upgrade x",
    "bundle": "add install lock outdated update",
    "cargo": "add fetch generate-lockfile install login logout owner publish search update yank",
    "composer": "create-project global install outdated require search self-update update",
    "dart": "pub",
    "docker": """
        attach build builder buildx commit compose context cp create exec image import load login manifest
        plugin pull push restart run scout search service stack start swarm trust update
    """,
    "dotnet": "add nuget restore tool workload",
    "flutter": "pub upgrade",
    "gem": "fetch install owner push query search signin sources update yank",
    "go": "get install mod",
    "hg": "clone identify in incoming out outgoing pull push",
    "jj": "git",
    "mix": "archive.install deps.get deps.update hex.publish local.hex",
    "npm": """
        access add adduser audit bugs ci create dedupe deprecate diff dist-tag dist-tags docs doctor exec find
        hook i info init in innit install install-ci-test install-test it login logout org outdated owner
        pack ping profile publish repo s se search show sponsor star stars team token trust undeprecate
        unpublish unstar up update upgrade v view whoami x
    """,
    "pdm": "add install lock publish sync update",
    "pip": "download index install search wheel",
    "pipenv": "install lock sync update upgrade",
    "pnpm": """
        add audit ci create dlx fetch i import info install login outdated publish search self-update show up
        update view whoami
    """,
    "podman": "attach build commit cp create exec import load login pull push restart run search start",
    "poetry": "add install lock publish search self source sync update",
    "rye": "add fetch install lock publish self sync",
    "stack": "install new update upgrade",
    "swift": "package",
    "uv": "add lock pip publish python self sync tool",
    "yarn": """
        add audit create dlx global info init install login npm outdated owner publish tag team up upgrade
        upgrade-interactive whoami
    """,
    "zig": "fetch",
}
"""Network commands of programs with many, besides git."""

_BARE_NETWORK = frozenset(("bundle", "yarn"))
"""Programs that install when they are given no command."""

Role = Literal[
    "copying",  # a word of a program that copies, and no operand
    "following",  # the program follows the links that it meets
    "logging",  # a file that it writes
    "moving",  # the directory that the program which it runs starts in
    "naming",  # it takes names of files from a file or from its input
    "place",  # the place where it works or writes
    "selecting",  # a pattern, or a choice of files
    "separator",  # a separator of fields
    "starting",  # it starts another program
    "value",  # a word that is no operand, and no file that it reads
    "wrapping",  # a word before the program that it runs
]
"""A meaning of options, or of the value that they take."""

_OPTIONS: Mapping[Role, Mapping[str, str]] = {
    "copying": {
        "cp ln mv": "-S -t",
        "install": "-S -g -m -o -t",
    },
    "following": {
        "ack": "--follow",
        "ag rg": "-L -f --follow",
        "bsdtar tar": "-h -L --dereference",
        "cp cpio": "-L --dereference",
        "diff": "-r --recursive",
        "du": "-L -D -H --dereference",
        "fd find": "-L --follow",
        "egrep fgrep grep zgrep": "-R --dereference-recursive",
        "pax": "-L",
        "rsync": "-L -k -H --copy-links --copy-unsafe-links --copy-dirlinks",
        "tree": "-l",
        "zip": "-r --recurse-paths",
    },
    "logging": {"strace time": "-o --output"},
    "moving": {"env": "-C --chdir", "sudo": "-D --chdir"},
    "naming": {
        "bsdtar tar": "-T --files-from",
        "cpio": "-i -o -p --create --extract --pass-through",
        "du sort wc": "--files0-from",
        "file": "-f --files-from",
        "pax": "-w",
        "rsync": "--files-from --include-from",
        "zip": "-@ --names-stdin",
    },
    "place": {
        "bsdtar": "-C",
        "cargo": "-C --target-dir",
        "cc clang clang++ g++ gcc iconv ld less rustc shuf sort tree": "-o --output",
        "cmake": "-B --prefix",
        "cp install ln mv": "-t --target-directory",
        "curl": "-o --output --output-dir",
        "find": "-fls -fprint -fprint0 -fprintf",
        "git": "-C --git-dir --work-tree",
        "gmake make tar": "-C --directory",
        "go": "-C -o",
        "hg": "-R --cwd",
        "just": "-d --working-directory",
        "ninja": "-C",
        "npm": "-C --prefix",
        "patch": "-d -o --directory --output",
        "pip": "-t --target --prefix --root",
        "pnpm": "-C --dir",
        "tsc": "--outDir --outFile",
        "unzip": "-d",
        "uv": "--directory --project",
        "wget": "-O -P --output-document --directory-prefix",
    },
    "selecting": {
        "egrep fgrep grep": "-e",
        "rg": "-T -e -g -t",
    },
    "separator": {
        "awk gawk mawk nawk": "-F",
        "column": "-s",
        "cut numfmt paste xargs": "-d",
        "join sort": "-t",
    },
    "starting": {
        "diff": "-l --paginate",
        "file": "-z -Z --uncompress --uncompress-noreport",
        "git": "-O --exec --ext-diff --open-files-in-pager --receive-pack --textconv --upload-pack",
        "rg": "--hostname-bin --pre",
        "sort": "--compress-program",
        "split": "--filter",
    },
    "value": {
        "ack ag": "-A -B -C -m",
        "awk gawk mawk nawk": "-F -v",
        "cut": "-b -c -d -f",
        "diff": "-C -I -U -x",
        "egrep fgrep grep rg": "-A -B -C -m",
        "fold": "-w",
        "git": "-C -c --config-env --git-dir --namespace --work-tree",
        "head": "-c -n",
        "mkdir": "-m",
        "mkfs": "-L -O -b -t",
        "nl": "-b -d -f -h -i -l -n -s -v -w",
        "od": "-A -N -j -t -w",
        "rsync": "-e",
        "sed": "-l",
        "shred wipe": "-n -s",
        "sort": "-S -k -t",
        "split": "-a -b -l -n",
        "tail": "-c -n -s",
        "truncate": "-r -s",
        "uniq": "-f -s -w",
        "xxd": "-c -l -o -s",
    },
    "wrapping": {
        "doas": "-C -u",
        "env": "-C -S -u --chdir --split-string --unset",
        "exec": "-a",
        "flock": "-E -w",
        "ionice": "-c -n -p -t",
        "nice": "-n --adjustment",
        "parallel": """
            -C -I -N -a -d -j -n --arg-file --colsep --delimiter --jobs --joblog --max-args --results
        """,
        "stdbuf": "-e -i -o --error --input --output",
        "strace": "-e -o",
        "sudo": """
            -C -D -R -T -U -g -h -p -r -t -u --chdir --chroot --group --host --prompt --user
        """,
        "time": "-f -o --format --output",
        "timeout": "-k -s --kill-after --signal",
        "watch": "-n",
        "xargs": """
            -E -I -L -P -a -d -n -s --arg-file --delimiter --max-args --max-chars --max-lines --max-procs
        """,
    },
}
"""Options of programs by their meaning."""


def _rows(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the words of the row of each name in a table."""
    found: dict[str, frozenset[str]] = {}
    for words, names in table.items():
        found |= dict.fromkeys(names.split(), frozenset(words.split()))
    return found


def _by_fact(rows: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the names with each fact."""
    found: dict[str, set[str]] = {}
    for name, known in rows.items():
        for fact in known:
            found.setdefault(fact, set()).add(name)
    return {fact: frozenset(names) for fact, names in found.items()}


def _by_program(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words.split()) for names, words in table.items() for name in names.split()}


PROGRAMS = cast("Mapping[str, frozenset[Fact]]", _rows(_PROGRAMS))
"""Facts about each program, by its name."""

GIT = cast("Mapping[str, frozenset[GitFact]]", _rows(_GIT))
"""Facts about each command of git, by its name."""

_WITH_FACT = _by_fact(PROGRAMS)
_GIT_WITH_FACT = _by_fact(GIT)
_OPTIONS_OF = {role: _by_program(table) for role, table in _OPTIONS.items()}

_SYSTEM = frozenset(("/bin", "/opt/homebrew/bin", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/sbin"))

_NO_FACTS = frozenset[Fact]()
_OF_RULES = frozenset[Fact](("any-option", "attached", "module", "scripts", "runs-git"))

_INTERPRETERS = re.compile(r"(?:python|pypy|node|ruby|perl|php|lua|julia|deno|bun|Rscript|osascript)[\d.]*")


def facts(program: str) -> frozenset[Fact]:
    """Return the facts about a program; none for an unknown one."""
    return PROGRAMS.get(program, PROGRAMS.get(base_name(program), _NO_FACTS))


def programs_with(*facts: Fact) -> frozenset[str]:
    """Return the programs with one of these facts, by their exact names."""
    return frozenset[str]().union(*(_WITH_FACT[fact] for fact in facts))


def git_with(*facts: GitFact) -> frozenset[str]:
    """Return the commands of git with one of these facts."""
    return frozenset[str]().union(*(_GIT_WITH_FACT[fact] for fact in facts))


def options_of(role: Role, program: str) -> Sequence[str]:
    """Return the options of a program that have this meaning, with their dashes."""
    return _OPTIONS_OF[role].get(program, ())


def letters_of(role: Role, program: str) -> str:
    """Return the letters of these options."""
    return "".join(option[1] for option in options_of(role, program) if not option.startswith("--"))


def base_name(program: str) -> str:
    """Return the name without the version at its end, as `pip` for `pip3`; unchanged where a digit belongs
    to it."""
    return program if program in PROGRAMS else program.rstrip("0123456789.")


def is_path_of_system(path: str) -> bool:
    """Return whether a path is that of an installed program, and not of another with its name."""
    return path.rpartition("/")[0] in _SYSTEM


def is_known(program: str) -> bool:
    """Return whether the table has the effects of a program of this exact name."""
    return not PROGRAMS.get(program, _NO_FACTS) <= _OF_RULES


NETWORK_COMMANDS: Mapping[str, frozenset[str]] = {
    **{program: frozenset(commands.split()) for program, commands in _NETWORK_COMMANDS.items()},
    "git": git_with("network"),
}
"""Network commands of programs with many."""


def goes_to_network(program: str, arguments: Sequence[str]) -> bool:
    """Return whether the command of a program with many uses the network.

    The word after an option may be its value, so that the next one may be the command.
    """
    commands = NETWORK_COMMANDS.get(program, frozenset[str]())
    doubtful = False
    for word in arguments:
        if word.startswith(("-", "+")):
            doubtful = word.startswith("-") and "=" not in word
        elif word in commands or not doubtful:
            return word in commands
        else:
            doubtful = False
    return program in _BARE_NETWORK and not arguments


def is_interpreter(program: str) -> bool:
    """Return whether a program runs code in an argument or in a file of its language."""
    return bool(_INTERPRETERS.fullmatch(program))
