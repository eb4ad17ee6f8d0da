"""The options and the commands of programs that a permission rule may allow, or that a check knows.

Invariant: rules exist only for what is named here. A program, a subcommand or an option that is missing has
none. Each program is in the table too (`tools/shell/programs.py`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cogency_tui.tools.shell.programs import programs_with

Kind = Literal["flag", "value", "optional", "name"]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that a rule allows, and its further conditions on the arguments.

    `every` is for programs none of whose options runs or writes anything. `refused` are the first
    characters of words that the program reads options from. `free` states whether the project's own command
    interprets the words after `--` (`led`: only where they begin with an option, else it may be a command).
    `most` is the limit of operands. `attached` states whether the value of a letter may follow it in the
    same word. No word may contain `barred`.
    """

    kinds: Mapping[str, Kind]
    every: bool = False
    free: bool = False
    refused: str = "@"
    most: int | None = None
    attached: bool = False
    led: bool = False
    barred: str = "\0"

    def allow(self, arguments: Sequence[str]) -> bool:
        """Return whether each option is known, and each operand is nothing else."""
        if self.every:
            return True
        if any(self.barred in word for word in arguments):
            return False
        rest = list(arguments)
        operands = 0
        while rest:
            word = rest.pop(0)
            if word == "--":
                if self.free:
                    if self.led and rest and not rest[0].startswith("-"):
                        return False
                    break
            elif word.startswith("-") and word != "-":
                if not self._allows_option(word, rest):
                    return False
            elif word.startswith(tuple(self.refused)) or (self.most is not None and _GLOB.search(word)):
                return False
            else:
                operands += 1
        return self.most is None or operands <= self.most

    def _allows_option(self, word: str, rest: list[str]) -> bool:
        name, equals, value = word.partition("=")
        kind = self.kinds.get(name)
        if kind is not None:
            if not equals:
                return self._allows_value(kind, value, rest)
            # It may be passed on to a program that reads it as an option.
            return _fits(kind, value) and not _OPTION_LIKE.match(value)
        if _NUMBER.fullmatch(word):
            return "-#" in self.kinds
        if (short := _SHORT_NUMBER.fullmatch(word)) and self.kinds.get(short[1], "flag") != "flag":
            return True
        return self._clusters and not word.startswith("--") and self._allows_cluster(word[1:], rest)

    def _allows_value(self, kind: Kind, value: str, rest: list[str]) -> bool:
        if kind in ("flag", "optional"):
            return True
        # A value that looks like an option may be one to the program.
        value = rest.pop(0) if rest else "-"
        special = _OPTION_LIKE.match(value) or value.startswith(tuple(self.refused))
        return not special and _fits(kind, value)

    def _allows_cluster(self, letters: str, rest: list[str]) -> bool:
        for at, letter in enumerate(letters, 1):
            kind = self.kinds.get(f"-{letter}")
            if kind is None:
                return False
            if kind != "flag":
                value = letters[at:]
                if not value:
                    return self._allows_value(kind, "", rest)
                # Others read the following letters as options, too, and the next word as the value of one
                # of them.
                return self.attached and _fits(kind, value)
        return True

    @property
    def _clusters(self) -> bool:
        """True if several letters may share a dash; not where names have one dash too."""
        return not any(len(name) > 2 and name[1] != "-" for name in self.kinds)


_GLOB = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"-\d+")
_SHORT_NUMBER = re.compile(r"(-[A-Za-z])\d+")
_OPTION_LIKE = re.compile(r"-(?!\d)")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_KINDS: Mapping[str, Kind] = {"=": "value", "?": "optional", ":": "name"}


def _fits(kind: Kind, value: str) -> bool:
    """Return whether an option of this kind may have this value attached."""
    return kind != "flag" and (kind != "name" or bool(_NAME.fullmatch(value)))


def _options(
    text: str, *, free: bool = False, led: bool = False, refused: str = "@", most: int | None = None
) -> Options:
    """Parse the options of a text: `-a` a flag, `-a=` with a value, `-a?` with an optional one, `-a:` with
    a plain name, `-#` a number."""
    kinds: dict[str, Kind] = {}
    for token in text.split():
        kind = _KINDS.get(token[-1], "flag")
        kinds[token if kind == "flag" else token[:-1]] = kind
    return Options(kinds, free=free, led=led, refused=refused, most=most)


def _target(text: str) -> Options:
    """Return the options with which a rule allows building one target, and no other beside it."""
    return _options(text, most=0)


def _git(text: str) -> Options:
    return _options(text, refused="\0")


_EVERY = Options({}, every=True)
_NONE = _options("")

_GIT_DIFF = """
    -p -u -s -z -w -b -a -R -W -M? -C? -B? -U= -S= -G= -# --patch --no-patch --stat? --numstat --shortstat
    --dirstat? --summary --name-only --name-status --raw --check --color? --no-color --word-diff?
    --color-words? --cached --staged --unified= --ignore-space-change --ignore-all-space
    --ignore-blank-lines --ignore-space-at-eol --minimal --patience --histogram --diff-algorithm=
    --no-ext-diff --no-textconv --no-renames --find-renames? --find-copies? --full-index --abbrev?
    --diff-filter= --pickaxe-all --pickaxe-regex --relative? --exit-code --quiet --merge-base
    --function-context --text --no-prefix --inter-hunk-context= --submodule? --ignore-submodules?
    --compact-summary --patch-with-stat --no-indent-heuristic
"""
_GIT_LOG = f"""
    {_GIT_DIFF} -n= -i -E -F -P -g -m -c -L= --cc --oneline --graph --decorate? --no-decorate --all
    --branches? --tags? --remotes? --max-count= --skip= --since= --after= --until= --before= --author=
    --committer= --grep= --all-match --invert-grep --regexp-ignore-case --merges --no-merges --first-parent
    --follow --full-history --reverse --date= --pretty? --format= --abbrev-commit --no-abbrev-commit
    --topo-order --date-order --author-date-order --left-right --left-only --right-only --cherry
    --cherry-pick --cherry-mark --not --simplify-by-decoration --source --no-notes --boundary
    --relative-date --parents --children --walk-reflogs --no-walk? --fixed-strings --extended-regexp
    --perl-regexp
"""
_CARGO = """
    -r -p= -F= -v -q -j= --release --all --workspace --package= --lib --bin= --bins --example= --examples
    --test= --tests --benches --bench= --all-targets --all-features --features= --no-default-features
    --verbose --quiet --locked --offline --frozen --message-format= --jobs= --no-run --no-fail-fast --doc
    --exclude= --profile= --keep-going --color= --target: --no-deps --document-private-items
"""
_GO = """
    -v -x -n -a -race -msan -run= -count= -cover -covermode= -coverpkg= -short -timeout= -bench= -benchmem
    -benchtime= -failfast -json -parallel= -p= -cpu= -tags= -list= -skip= -shuffle= -vet= -mod: -trimpath
    -fullpath
"""
_DOTNET = """
    -c= -f= -v= --configuration= --framework= --verbosity= --no-build --no-restore --nologo --filter=
    --list-tests --no-incremental --verify-no-changes --include= --exclude= --severity=
"""
_RUFF = """
    -q -v -s -n -e -w --fix --no-fix --unsafe-fixes --diff --check --watch --quiet --verbose --silent
    --select= --ignore= --extend-select= --extend-ignore= --fixable= --unfixable= --output-format:
    --no-cache --statistics --show-fixes --preview --no-preview --line-length= --exclude= --extend-exclude=
    --target-version= --isolated --exit-zero --exit-non-zero-on-fix --respect-gitignore --force-exclude
    --show-files --show-settings --version --help
"""
_PYRIGHT = """
    -p= --project= --outputjson --verbose --stats --warnings -w --watch --level= --pythonversion=
    --pythonplatform= --dependencies --version
"""
_ONE_LINT = "-q -v --quiet --verbose --version"

_GETOPT = programs_with("attached")

_RULES: Mapping[str, Options] = {
    **dict.fromkeys(programs_with("any-option"), _EVERY),
    # Builtins of the shell, some options of which name a variable and evaluate its index.
    "printf": _NONE,
    "test": _options(
        """
        -a -b -c -d -e -f -g -h -k -n -o -p -r -s -t -u -w -x -z -G -L -N -O -S -ef -eq -ge -gt -le -lt -ne
        -nt -ot
        """
    ),
    # Search and order.
    "column": _options("-t -s= -o= -n -e -c= --table --separator= --output-separator= --json"),
    "date": _options("-u -R -I? -d= -r= --utc --date= --iso-8601? --rfc-3339= --reference="),
    "diff": _options(
        """
        -u -U= -c -C= -q -s -r -N -a -b -B -w -i -y -e -n -t -T -p -d -E -Z -W= -x= -I= -# --unified?
        --context? --brief --recursive --side-by-side --width= --ignore-case --ignore-all-space
        --ignore-space-change --ignore-blank-lines --new-file --text --color? --exclude=
        --suppress-common-lines --minimal --report-identical-files --strip-trailing-cr --label=
        --no-dereference
        """
    ),
    "fd": _options(
        """
        -H -I -u -s -i -g -F -a -p -0 -1 -d= -t= -e= -E= -S= -q --hidden --no-ignore --unrestricted --type=
        --extension= --exclude= --max-depth= --min-depth= --max-results= --glob --full-path --absolute-path
        --case-sensitive --ignore-case --fixed-strings --print0 --size= --changed-within= --changed-before=
        --color= --quiet --no-ignore-vcs --strip-cwd-prefix
        """
    ),
    "file": _options("-b -i -h -k -0 --brief --mime --mime-type --mime-encoding --no-dereference"),
    "find": _options(
        """
        -H -P -O0 -O1 -O2 -O3 -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex=
        -regextype= -type= -xtype= -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -anewer=
        -cnewer= -newermt= -perm= -user= -group= -uid= -gid= -maxdepth= -mindepth= -depth -d -prune -print
        -print0 -printf= -ls -empty -not -and -or -a -o -true -false -readable -writable -executable -links=
        -inum= -samefile= -quit -daystart -mount -xdev -nouser -nogroup -noleaf -warn -nowarn
        """,
    ),
    "rg": _options(
        """
        -n -i -w -l -c -v -F -e= -g= -t= -T= -A= -B= -C= -m= -o -s -S -U -x -u -N -H -I -P -q -0 -r= -M= -d=
        -# --files --hidden --no-hidden --no-ignore --no-ignore-vcs --glob= --iglob= --type= --type-not=
        --type-list --count --count-matches --files-with-matches --files-without-match --line-number
        --no-line-number --ignore-case --case-sensitive --smart-case --fixed-strings --word-regexp
        --line-regexp --invert-match --multiline --multiline-dotall --max-count= --max-depth= --max-columns=
        --max-filesize= --context= --after-context= --before-context= --only-matching --json --stats --sort=
        --sortr= --color= --heading --no-heading --pcre2 --with-filename --no-filename --vimgrep --trim
        --replace= --column --null --passthru --regexp= --text -a --unrestricted --no-messages --quiet
        """
    ),
    "sort": _options(
        """
        -b -d -f -g -i -M -h -n -R -r -V -k= -m -c -C -u -z -s -t= --key= --field-separator= --numeric-sort
        --general-numeric-sort --human-numeric-sort --version-sort --month-sort --random-sort --reverse
        --unique --check? --stable --zero-terminated --ignore-case --ignore-leading-blanks
        --dictionary-order --merge --parallel=
        """
    ),
    "tree": _options(
        """
        -a -d -f -i -s -h -p -q -u -g -D -F -J -X -Q -N -C -n -t -c -r -v -U -L= -I= -P= --dirsfirst
        --gitignore --noreport --prune --filelimit= --du --si --matchdirs --charset= --sort=
        """
    ),
    "uniq": _options("-c -d -D -i -u -z -f= -s= -w= --count --repeated --unique --ignore-case", most=1),
    **dict.fromkeys(
        ("cloc", "tokei", "scc"), _options("--json --by-file --quiet --exclude-dir= --vcs= --files")
    ),
    # Version control.
    "git add": _git("-A -u -v -n -N --all --update --verbose --dry-run --intent-to-add"),
    "git blame": _git(
        """
        -w -e -f -n -p -s -l -t -c -L= -M? -C? --date= --since= --first-parent --show-email --show-name
        --show-number --line-porcelain --porcelain --incremental --root --abbrev=
        """
    ),
    "git branch": _git(
        """
        -a -r -v -l -i -q --list --all --remotes --verbose --show-current --contains? --no-contains?
        --merged? --no-merged? --sort= --format= --points-at= --column? --color? --no-color --ignore-case
        --abbrev=
        """
    ),
    "git commit": _git(
        """
        -m= -a -s -q -v -n --message= --all --amend --no-edit --signoff --quiet --verbose --allow-empty
        --no-verify --fixup= --squash= --author= --date= --dry-run --short --no-gpg-sign --no-status
        """
    ),
    "git describe": _git(
        """
        --tags --always --dirty? --broken? --all --long --abbrev= --match= --exclude= --exact-match
        --first-parent --contains --candidates=
        """
    ),
    "git diff": _git(_GIT_DIFF),
    "git grep": _git(
        """
        -n -i -w -v -E -F -P -G -l -L -c -h -H -o -p -W -q -I -a -z -A= -B= -C= -e= -m= -# --cached
        --untracked --name-only --files-with-matches --files-without-match --count --line-number --column
        --ignore-case --word-regexp --invert-match --heading --break --color? --no-color --max-depth= --and
        --or --not --all-match --max-count= --show-function --function-context --context= --after-context=
        --before-context= --extended-regexp --fixed-strings --perl-regexp --only-matching --full-name
        --quiet
        """
    ),
    "git log": _git(_GIT_LOG),
    "git ls-files": _git(
        """
        -c -d -m -o -i -s -u -k -t -v -z -x= --cached --deleted --modified --others --ignored --stage
        --unmerged --killed --exclude= --exclude-standard --full-name --error-unmatch --directory
        --no-empty-directory --eol --deduplicate --abbrev?
        """
    ),
    "git rev-parse": _git(
        """
        -q --show-toplevel --abbrev-ref? --short? --verify --quiet --git-dir --absolute-git-dir
        --git-common-dir --is-inside-work-tree --is-bare-repository --all --branches? --tags? --remotes?
        --symbolic --symbolic-full-name --show-prefix --show-cdup --show-superproject-working-tree
        """
    ),
    "git shortlog": _git(
        "-s -n -e -c --summary --numbered --email --since= --until= --group= --no-merges --all"
    ),
    "git show": _git(_GIT_LOG),
    "git status": _git(
        """
        -s -b -v -u? -z --short --branch --verbose --long --porcelain? --untracked-files? --ignored?
        --ignore-submodules? --show-stash --ahead-behind --no-ahead-behind --renames --no-renames --column?
        --find-renames?
        """
    ),
    # Python.
    "basedpyright": _options(_PYRIGHT),
    "black": _options(
        """
        -q -v -l= -t= -S -C --check --diff --color --no-color --quiet --verbose --line-length=
        --target-version= --preview --fast --safe --exclude= --include= --skip-string-normalization
        --skip-magic-trailing-comma --version
        """
    ),
    "compileall": _options("-q -f -l -j="),
    **dict.fromkeys(
        ("coverage report", "coverage combine"),
        _options("""
        -m -i --show-missing --skip-covered --skip-empty --fail-under= --precision= --sort= --keep
    """),
    ),
    "flake8": _options(
        """
        -q -v --select= --ignore= --extend-ignore= --extend-select= --max-line-length= --max-complexity=
        --statistics --count --show-source --exclude= --extend-exclude= --exit-zero --version
        """
    ),
    "isort": _options("""
        -c -q -v -l= --check --check-only --diff --profile: --atomic --quiet --verbose --version
    """),
    "mypy": _options(
        """
        -p= -m= -v --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes
        --show-column-numbers --show-error-context --exclude= --python-version= --platform=
        --follow-imports= --package= --module= --no-incremental --incremental --namespace-packages
        --explicit-package-bases --check-untyped-defs --disallow-untyped-defs --warn-unused-ignores
        --warn-unreachable --hide-error-context --no-color-output --disable-error-code= --enable-error-code=
        --version --verbose
        """
    ),
    "pip check": _NONE,
    "pip freeze": _options("-l --local --user --all --exclude="),
    "pip list": _options("-e -l --editable --local --user --format= --not-required --exclude="),
    "pip show": _options("-f -v --files --verbose"),
    "pre-commit run": _options(
        "-a -v --all-files --files --verbose --show-diff-on-failure --hook-stage= --color="
    ),
    "pylint": _options(
        """
        -E -v -d= -e= -j= -s= -r= -f: --errors-only --disable= --enable= --jobs= --score= --reports=
        --output-format: --fail-under= --fail-on= --recursive= --ignore= --ignore-paths= --ignore-patterns=
        --max-line-length= --version
        """
    ),
    "pyright": _options(_PYRIGHT),
    "pytest": _options(
        """
        -x -q -v -s -l -h -k= -m= -n= -r= -p= -W= --lf --last-failed --ff --failed-first --nf --new-first
        --sw --stepwise --maxfail= --tb= --co --collect-only --no-header --no-summary --durations=
        --durations-min= --showlocals --exitfirst --quiet --verbose --verbosity= --capture= --color=
        --strict-markers --strict-config --disable-warnings --disable-pytest-warnings --cov? --cov-report:
        --no-cov --cov-branch --cov-append --cov-fail-under= --numprocesses= --dist= --deselect= --ignore=
        --ignore-glob= --import-mode= --reruns= --timeout= --randomly-seed= --help --version --fixtures
        --markers --setup-show --setup-plan --full-trace --forked --asyncio-mode= --snapshot-update
        --runxfail --hypothesis-show-statistics --hypothesis-seed= --hypothesis-profile= --benchmark-skip
        --benchmark-only --doctest-modules --cache-show --ds= --reuse-db --create-db --nomigrations
        """
    ),
    "ruff": _options(_RUFF),
    "tox": _options(
        "-e= -q -v -r -p= -l --recreate --parallel= --skip-missing-interpreters", free=True, led=True, most=0
    ),
    "nox": _options(
        "-s= -e= -k= -t= -r -R -l --session= --sessions= --list --reuse-existing-virtualenvs",
        free=True,
        led=True,
        most=0,
    ),
    "unittest": _options("-v -q -f -b -k= -s= -p= -t= --verbose --quiet --failfast --buffer --locals"),
    "uv tree": _options("-d= --depth= --frozen --locked --offline --invert --no-dedupe --package="),
    "poetry check": _options("--lock"),
    "poetry show": _options("-t --tree --only= --top-level --all"),
    **dict.fromkeys(
        ("hatch test", "hatch fmt", "rye test", "rye lint", "rye fmt"), _options("-a -q -v --all --check")
    ),
    **dict.fromkeys(("pdm list", "pipenv check", "pipenv graph"), _NONE),
    # JavaScript.
    **dict.fromkeys(
        ("biome check", "biome ci", "biome format", "biome lint"),
        _options("""
        --write --fix --unsafe --apply --changed --staged --no-errors-on-unmatched --max-diagnostics=
    """),
    ),
    "eslint": _options(
        """
        -f: --format: --fix --fix-dry-run --fix-type= --ext= --quiet --max-warnings= --cache --no-cache
        --no-error-on-unmatched-pattern --color --no-color --debug --ignore-pattern= --rule=
        --report-unused-disable-directives --no-ignore --no-inline-config --version
        """
    ),
    "jest": _options(
        """
        -t= -i -b -u -o -w= --testNamePattern= --testPathPattern= --testPathPatterns= --runInBand --watch?
        --watchAll? --coverage? --verbose? --silent --ci --bail? --updateSnapshot --passWithNoTests
        --maxWorkers= --no-cache --onlyChanged --onlyFailures --changedSince= --findRelatedTests --forceExit
        --detectOpenHandles --colors --no-color --json --listTests --selectProjects= --testTimeout=
        --version
        """
    ),
    "mocha": _options(
        """
        -g= -f= -t= -b -R: --grep= --fgrep= --timeout= --bail --recursive --reporter: --exit --invert
        --parallel --forbid-only --forbid-pending --colors
        """
    ),
    "prettier": _options(
        """
        -w -c -l -u --write --check --list-different --ignore-unknown --no-config --log-level= --loglevel=
        --parser: --no-error-on-unmatched-pattern --single-quote --tab-width= --print-width= --version
        """
    ),
    "stylelint": _options("-q --fix --quiet --max-warnings= --allow-empty-input --version"),
    "tsc": _options(
        """
        -p= -b -w -v --noEmit --project= --build --watch --pretty? --strict? --skipLibCheck? --incremental?
        --noEmitOnError --version --listFiles --listFilesOnly --showConfig --traceResolution
        --noErrorTruncation --force --dry --verbose --diagnostics --extendedDiagnostics
        """
    ),
    "vitest": _options(
        """
        -t= -u -w --run --reporter: --testNamePattern= --coverage --update --passWithNoTests --bail=
        --watch? --silent --no-color --project= --dir= --changed? --hideSkippedTests --allowOnly --no-watch
        --version
        """
    ),
    "vue-tsc": _options("-p= -b --noEmit --project= --build --skipLibCheck?"),
    **dict.fromkeys(
        ("nx test", "nx lint", "nx build", "nx affected", "nx typecheck"),
        _options("-t= --target= --targets= --skip-nx-cache --verbose --parallel? --all --base= --head="),
    ),
    # Rust, Go, C, and the machines of Java and .NET.
    **dict.fromkeys(("cargo bench", "cargo nextest", "cargo run", "cargo test"), _options(_CARGO, free=True)),
    **dict.fromkeys(("cargo build", "cargo check", "cargo doc"), _options(_CARGO)),
    "cargo clippy": _options(f"{_CARGO} -D= -W= -A= --fix --allow-dirty --allow-staged"),
    "cargo fmt": _options("-p= -v -q --all --check --package= --verbose --quiet"),
    "cargo metadata": _options("-q --format-version= --no-deps --offline --locked --frozen --quiet"),
    "cargo tree": _options(
        """
        -i= -d -e= -p= -f= --invert= --duplicates --edges= --depth= --prefix= --package= --workspace
        --offline --locked --no-dedupe --features= --all-features
        """
    ),
    "cargo version": _options("-v --verbose"),
    "clang-format": _options("-i -n -Werror --dry-run --style= --verbose --sort-includes"),
    "ctest": _options(
        """
        -V -VV -Q -N -j= -R= -E= -L= -LE= -C= --test-dir= --output-on-failure --verbose --parallel=
        --rerun-failed --timeout= --stop-on-failure --show-only
        """
    ),
    "cmake": _options("-B= -S= -G= -j= --build= --parallel? --config= --preset: --fresh"),
    "meson test": _options("-C= -v -j= --verbose --suite= --print-errorlogs --no-rebuild --list"),
    "go build": _options(_GO),
    "go doc": _options("-all -c -cmd -short -src -u"),
    "go fmt": _options("-n -x"),
    "go list": _options("-m -json -f= -deps -test -find -e -tags="),
    "go test": _options(_GO),
    "go version": _options("-m -v"),
    "go vet": _options("-v -n -x -json -tags= -c="),
    "gofmt": _options("-l -w -d -s -e"),
    "golangci-lint run": _options("-v --fix --timeout= --fast --verbose --new --new-from-rev= --tests?"),
    "staticcheck": _options("-checks= -tests= -f= -tags="),
    "rustfmt": _options("-v -q --check --edition= --verbose --quiet"),
    **dict.fromkeys(("dotnet build", "dotnet test", "dotnet format"), _options(_DOTNET, refused="@/")),
    # Others that check and test.
    **dict.fromkeys(
        ("bazel build", "bazel test"), _options("-k -c= --keep_going --test_output= --test_filter= --jobs=")
    ),
    **dict.fromkeys(
        ("cabal build", "cabal test", "stack build", "stack test"), _options("-v --fast --pedantic")
    ),
    **dict.fromkeys(("composer test", "composer validate"), _options("--strict --no-check-all")),
    **dict.fromkeys(
        ("dart analyze", "dart format", "dart test", "flutter analyze", "flutter test"),
        _options("""
        -n= -t= -x= --name= --plain-name= --tags= --fatal-infos --fatal-warnings --no-pub --coverage
    """),
    ),
    **dict.fromkeys(
        ("docker images", "docker info", "docker inspect", "docker logs", "docker ps", "docker version")
        + ("podman images", "podman info", "podman inspect", "podman logs", "podman ps", "podman version"),
        _options(
            """
        -a -q -f= -n= -l -s -t --all --quiet --filter= --format= --no-trunc --tail= --since= --until=
        --timestamps --follow --size --type= --last= --latest
        """
        ),
    ),
    **dict.fromkeys(
        ("mix compile", "mix credo", "mix format", "mix test"),
        _options(
            """
        --trace --stale --failed --seed= --max-failures= --only= --exclude= --include= --cover --color
        --check-formatted --warnings-as-errors --strict --force
        """
        ),
    ),
    "phpstan": _options("-l= --level= --no-progress --memory-limit= --error-format="),
    "phpunit": _options("""
        --filter= --testsuite= --group= --exclude-group= --stop-on-failure --testdox --colors?
    """),
    **dict.fromkeys(
        ("rails test", "rails routes"), _options("-v -b -f -n= -e= -c= -g= -s= --verbose --backtrace")
    ),
    "rspec": _options("""
        -b -e= -t= -f: -P= --example= --tag= --format: --fail-fast? --only-failures --next-failure --dry-run
        --seed=
    """),
    "rubocop": _options("""
        -a -A -x -f: --autocorrect --autocorrect-all --only= --except= --format: --parallel --fail-level=
    """),
    "shellcheck": _options("""
        -a -x -s= -S= -e= -i= -f= --shell= --severity= --exclude= --include= --format= --check-sourced
    """),
    **dict.fromkeys(
        ("swift build", "swift test"), _options("-c= -v --configuration= --filter= --skip= --parallel")
    ),
    **dict.fromkeys(("zig fmt", "zig test"), _options("--check")),
    **dict.fromkeys(
        ("actionlint", "hadolint", "ktlint", "markdownlint", "swiftlint", "yamllint"), _options(_ONE_LINT)
    ),
}

RULES: Mapping[str, Options] = {
    name: replace(options, attached=name.partition(" ")[0] in _GETOPT) for name, options in _RULES.items()
}
"""Programs, or programs with a subcommand, that a rule may allow, with the allowed options."""

GIT_OFFLINE: Mapping[str, Options] = {
    "git cat-file": _git("-p -t -s -e"),
    "git check-ignore": _git("-v -n -q --verbose --no-index"),
    "git checkout": _git("-b= -B= -q -f --quiet --detach --ours --theirs"),
    "git ls-tree": _git("-r -d -t -l -z --name-only --full-tree --full-name --abbrev?"),
    "git merge-base": _git("-a --all --is-ancestor --fork-point --octopus"),
    "git mv": _git("-f -k -n -v"),
    "git reflog": _git(_GIT_LOG),
    "git reset": _git("-q --soft --mixed --hard --quiet"),
    "git restore": _git("-S -W -q -s= --staged --worktree --source= --ours --theirs"),
    "git rev-list": _git("-n= --all --count --max-count= --since= --until= --left-right --objects --merges"),
    "git rm": _git("-r -f -n -q --cached --quiet"),
    "git stash": _git(
        "-u -q -m= -k -p --all --include-untracked --keep-index --message= --quiet --stat --index"
    ),
    "git switch": _git("-c= -C= -q -d --create= --detach --quiet"),
    "git tag": _git("-l -n -d -a -m= -f --list --sort= --contains? --points-at= --merged? --no-merged?"),
}
"""Other commands of git whose arguments neither reach the network nor start a program, with the allowed
options."""

_LISTING = _options(
    """
    -a -l -q -v --all --long --quiet --verbose --json --format= --outdated-exit-code --no-trunc --installed
    """
)
_REMOTE_NAMES = _git(
    "-v -t= -m= --verbose --tags --no-tags --mirror? --push --all --add --delete --no-progress"
)


def _openssl(text: str) -> Options:
    # It loads certificates from addresses, and engines from files of a configuration.
    return replace(_options(text), barred="://")


_DIGEST = """
    -md5 -sha1 -sha224 -sha256 -sha384 -sha512 -sha3-256 -sha3-512 -hex -binary -r -c -out= -sign= -verify=
    -prverify= -signature= -hmac= -passin=
"""
_CIPHERS = """
    -aes128 -aes192 -aes256 -aes-128-cbc -aes-192-cbc -aes-256-cbc -aes-128-ctr -aes-256-ctr -aes-128-ecb
    -aes-256-ecb -chacha20 -des3
"""
_KEY = f"""
    {_CIPHERS} -in= -out= -noout -text -check -modulus -pubin -pubout -inform: -outform: -passin= -passout=
    -traditional -param_enc: -conv_form: -RSAPublicKey_in -RSAPublicKey_out
"""
_OPENSSL: Mapping[str, Options] = {
    **dict.fromkeys(("openssl ec", "openssl pkey", "openssl rsa"), _openssl(_KEY)),
    **dict.fromkeys(
        ("openssl dgst", "openssl md5", "openssl sha1", "openssl sha256", "openssl sha512"), _openssl(_DIGEST)
    ),
    **dict.fromkeys(
        ("openssl base64", "openssl enc"),
        _openssl(
            f"""
            {_CIPHERS} -e -d -a -base64 -A -in= -out= -k= -K= -iv= -S= -pass= -kfile= -md: -iter= -salt
            -nosalt -pbkdf2 -p -P -nopad
            """
        ),
    ),
    "openssl asn1parse": _openssl("-in= -inform: -i -noout -out= -offset= -length= -dump -strparse="),
    "openssl ecparam": _openssl("-name: -genkey -noout -in= -out= -inform: -outform: -list_curves -text"),
    "openssl genpkey": _openssl(f"{_CIPHERS} -algorithm: -pkeyopt= -out= -outform: -pass= -text -quiet"),
    "openssl genrsa": _openssl(f"{_CIPHERS} -out= -passout= -traditional"),
    "openssl passwd": _openssl("-1 -5 -6 -apr1 -salt= -stdin -noverify"),
    "openssl pkcs12": _openssl(
        """
        -in= -out= -inkey= -certfile= -name= -export -info -noout -nokeys -nocerts -clcerts -cacerts -nodes
        -noenc -passin= -passout= -legacy
        """
    ),
    "openssl pkcs8": _openssl("-topk8 -in= -out= -inform: -outform: -nocrypt -passin= -passout="),
    "openssl rand": _openssl("-a -base64 -hex -out="),
    "openssl req": _openssl(
        """
        -new -x509 -newkey= -nodes -noenc -key= -keyout= -in= -out= -days= -subj= -addext= -sha256 -sha512
        -batch -utf8 -noout -text -verify -subject -pubkey -passin= -passout=
        """
    ),
    "openssl version": _openssl("-a -d -v"),
    "openssl x509": _openssl(
        """
        -in= -out= -inform: -outform: -noout -text -subject -issuer -dates -startdate -enddate -serial
        -fingerprint -sha1 -sha256 -sha512 -modulus -pubkey -hash -subject_hash -issuer_hash -email -purpose
        -ext= -nameopt= -checkend= -req -days= -CA= -CAkey= -CAcreateserial -CAserial= -signkey=
        -set_serial= -passin=
        """
    ),
}

_LOCAL: Mapping[str, Options] = {
    **dict.fromkeys(
        ("git remote", "git remote -v", "git submodule", "npm pack"), _target("-v --dry-run --json")
    ),
    **dict.fromkeys(
        ("git remote add", "git remote get-url", "git remote remove", "git remote rename", "git remote rm")
        + ("git remote set-branches", "git remote set-url"),
        _REMOTE_NAMES,
    ),
    **dict.fromkeys(
        ("git submodule deinit", "git submodule init", "git submodule status", "git submodule summary")
        + ("git submodule sync",),
        _git("-f -q --all --cached --files --force --quiet --recursive"),
    ),
    **dict.fromkeys(
        ("git lfs env", "git lfs ls-files", "git lfs status", "git lfs track", "git lfs untrack")
        + ("git lfs version",),
        _git("-l -n -s --all --long --name-only --porcelain --json --size"),
    ),
    # Python.
    **dict.fromkeys(
        ("conda env list", "conda info", "conda list", "pipx environment", "pipx list", "poetry source show")
        + ("uv pip check", "uv pip freeze", "uv pip list", "uv pip show", "uv pip tree", "uv python dir")
        + ("uv python find", "uv self version", "uv tool dir", "uv tool list"),
        _LISTING,
    ),
    # JavaScript.
    "npm init": _target("-y --yes -f --force --init-type= -w= --workspace= --scope="),
    # Go and Rust.
    **dict.fromkeys(
        ("go mod edit", "go mod init", "go mod verify"),
        _options(
            "-fmt -go= -json -module= -print -require= -droprequire= -replace= -dropreplace= -toolchain="
        ),
    ),
    "cargo install --list": _NONE,
    **dict.fromkeys(
        ("rustup component list", "rustup show", "rustup target list", "rustup toolchain list")
        + ("rustup which",),
        _LISTING,
    ),
    # Others.
    **dict.fromkeys(("dotnet nuget list", "dotnet tool list", "dotnet workload list"), _LISTING),
    "gem sources": _target("-l --list"),
    **dict.fromkeys(
        ("docker buildx du", "docker buildx inspect", "docker buildx ls", "docker buildx version")
        + ("docker compose config", "docker compose down", "docker compose images", "docker compose kill")
        + ("docker compose logs", "docker compose ls", "docker compose pause", "docker compose port")
        + ("docker compose ps", "docker compose restart", "docker compose stop", "docker compose top")
        + ("docker compose unpause", "docker compose version"),
        _options(
            """
            -a -f -n= -q -t -v --all --follow --format= --no-color --no-log-prefix --quiet --remove-orphans
            --services --short --since= --tail= --timeout= --timestamps --volumes
            """
        ),
    ),
    **dict.fromkeys(
        ("kubectl config current-context", "kubectl config get-clusters", "kubectl config get-contexts")
        + ("helm lint", "helm version", "terraform fmt", "terraform validate", "terraform version")
        + ("tofu fmt", "tofu validate", "tofu version", "gh alias list", "gh config list", "gh version"),
        _options("-o= -check -diff -json -no-color -recursive --short --strict"),
    ),
    "kubectl version --client": _options("-o= --output="),
    # Packages of the system.
    **dict.fromkeys(
        ("apt list", "brew list", "brew --prefix", "dpkg -L", "dpkg -S", "dpkg -l", "dpkg -s", "flatpak list")
        + (
            "dpkg --print-architecture",
            "pacman -Q",
            "pacman -Qi",
            "pacman -Ql",
            "rpm -q",
            "rpm -qa",
            "rpm -qi",
        )
        + ("rpm -ql", "snap list"),
        _options("--installed --upgradable --cask --formula --versions"),
    ),
    **_OPENSSL,
    "svn status": _options("-q -v --quiet --verbose"),
}
"""Local uses of network programs: a program, its command and that one's own, with the allowed options."""

_INFORMING = frozenset(("-V", "--help", "--version"))
"""Options that, alone, print information about a program."""

_OFFLINE: Mapping[str, frozenset[str]] = {
    "cargo": frozenset(("add", "fetch", "generate-lockfile", "install", "update")),
    "uv": frozenset(("add", "lock", "pip", "sync")),
}
"""Commands that obey `--offline`, also for git repositories."""


def stays_local(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a program that may use the network, given these words, does not."""
    if len(arguments) == 1 and arguments[0] in _INFORMING:
        return True
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if _OFFLINE.get(program, frozenset[str]()).intersection(own[:1]) and "--offline" in own:
        return True
    return _listed(_LOCAL, program, arguments)


_PACKED = """
    -c -d -f -k -l -n -N -q -r -t -v -# --stdout --decompress --force --keep --list --quiet --recursive
    --verbose
"""

_FILE_FORMS: Mapping[str, Options] = {
    **_OPENSSL,
    **dict.fromkeys(
        ("bunzip2", "bzcat", "bzip2", "gunzip", "gzip", "unxz", "xz", "xzcat", "zcat"),
        _options(_PACKED),
    ),
    **dict.fromkeys(("bash -n", "node --check", "node -c", "sh -n"), _NONE),
    # With a colon its file is on another machine.
    "tar": replace(
        _options(
            """
            -c -x -t -r -u -z -j -J -a -v -p -k -h -O -f= -C= --create --extract --list --get --append --gzip
            --bzip2 --xz --zstd --auto-compress --verbose --to-stdout --file= --directory= --exclude=
            --exclude-vcs --strip-components= --strip= --keep-old-files --overwrite --no-same-owner
            --same-permissions --numeric-owner --owner= --group= --mtime= --sort= --wildcards
            """
        ),
        barred=":",
    ),
    "unzip": _options("-l -o -q -n -p -t -v -j -d= -x="),
    "zip": _options("-r -q -j -v -u -d -m -x= -i= -#"),
}
"""Programs, or programs with a command, that read and write only the files that their arguments name, with
the allowed options."""

_BUNDLE = re.compile(r"[A-Za-z]+")


def names_its_files(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a program, given these words, reads and writes the files that they name, and runs none
    of them."""
    given = list(arguments)
    if program == "tar" and given and _BUNDLE.fullmatch(given[0]):
        given[0] = f"-{given[0]}"
    return _listed(_FILE_FORMS, program, given)


def _listed(table: Mapping[str, Options], program: str, arguments: Sequence[str]) -> bool:
    """Return whether the longest name of a table that a program and its first words form allows the
    others."""
    lengths = range(min(len(arguments), _MOST_NAMED), -1, -1)
    found = next((length for length in lengths if " ".join((program, *arguments[:length])) in table), None)
    return found is not None and table[" ".join((program, *arguments[:found]))].allow(arguments[found:])


_MOST_NAMED = max(len(each.split()) for each in (*_LOCAL, *_FILE_FORMS)) - 1

GIT_TRANSFERS: Mapping[str, Options] = {
    "fetch": _git(
        """
        -a -p -t -n -q -v -f -k --append --all --prune --prune-tags --tags --no-tags --quiet --verbose
        --force --keep --dry-run --depth= --deepen= --unshallow --shallow-since= --progress --no-progress
        --atomic --no-recurse-submodules
        """
    ),
    "pull": _git(
        """
        -r? -p -t -q -v -n -f --rebase? --no-rebase --ff --ff-only --no-ff --autostash --no-autostash
        --prune --tags --no-tags --all --quiet --verbose --stat --no-stat --no-edit --commit --no-commit
        --squash --force --depth= --unshallow --progress --no-progress --no-recurse-submodules
        """
    ),
    "push": _git(
        """
        -u -n -q -v -f -d --set-upstream --all --branches --tags --follow-tags --dry-run --quiet --verbose
        --porcelain --progress --no-progress --atomic --no-verify --force --force-with-lease?
        --force-if-includes --delete --prune --mirror --thin --no-thin --no-recurse-submodules
        """
    ),
}
"""Commands of git that contact a remote, with the options that name neither one nor a program."""

_MAKE = _target("""
        -j? -k -s -n -B -i -w -r -R -l? --silent --quiet --keep-going --no-print-directory --always-make
        --dry-run --jobs? --output-sync? --trace --warn-undefined-variables
    """)
_GRADLE = _target(
    """
        -q -i -s --info --stacktrace --full-stacktrace --no-daemon --daemon --offline --parallel
        --no-parallel --rerun-tasks --rerun --continue --quiet --console= --warning-mode= --build-cache
        --no-build-cache --configuration-cache --no-configuration-cache --tests= --dry-run --fail-fast
        """
)
_MAVEN = _target(
    """
        -q -o -B -e -X -U -N -am -amd -ntp -T= -pl= -DskipTests -Dtest= -Dit.test= --offline --batch-mode
        --errors --quiet --no-transfer-progress --fail-at-end --fail-fast --also-make
        """
)

TARGETS: Mapping[str, Options] = {
    "ant": _target("-q -v -quiet -verbose -silent"),
    "gmake": _MAKE,
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "just": _target("-q -v -n --quiet --verbose --dry-run --no-deps"),
    "make": _MAKE,
    "mvn": _MAVEN,
    "mvnw": _MAVEN,
    "ninja": _target("-j= -k= -n -v --verbose --quiet"),
    "rake": _target("-q -t -v -n --trace --quiet --verbose --dry-run"),
    "task": _target("-s -v -n -f -p --silent --verbose --dry --force --parallel"),
}
"""Programs that build their arguments: a rule is for one target."""

RUNNERS = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("bundle", "exec"))
)
"""Words that run a command in the project's environment: a rule is for that command."""

FINAL = re.compile(
    r"clean|deploy|destroy|drop|exec|install|login|nuke|prune|publish|purge|push|release|remove|reset|upload|wipe"
)
"""Names of targets and scripts that need a question each time."""

SCRIPT_NAMES = re.compile(r"[\w./-]+\.(?:py|js|mjs|cjs|ts|rb|pl|php|lua|jl|r)", re.IGNORECASE)
"""Files for an interpreter."""

EXECUTABLE_NAMES = re.compile(r"[\w./-]+\.(?:sh|bash|py|js|mjs|rb|pl|php)")
"""Scripts of the project that are run by their path."""

MODULES = programs_with("module")
"""Modules that `python -m` may run under a rule."""
