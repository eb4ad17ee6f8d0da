"""Which commands a standing rule may let pass: simple ones of known kinds, and nothing that only looks so."""

import shlex
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cogency_tui.agent.command_patterns import pattern_of

FITS = {
    "pytest": [
        "pytest",
        "pytest -x",
        "pytest tests/unit -k 'a and b'",
        '\tpytest  "tests/a b.py" ',
        "pytest -q=1",
    ],
    "git status": ["git status", "git status -s", "git status --short src"],
    "git diff": ["git diff", "git diff HEAD~1 -- src/a.py", "git diff main...HEAD", "git diff --stat"],
    "git log": ["git log --oneline -5", "git log HEAD^ -p", "git log --author=me"],
    "git commit": ["git commit -m 'Fix the retry loop'", 'git commit --amend -m "x, y"'],
    "git branch": ["git branch", "git branch -a", "git branch --list"],
    "git grep": ["git grep -n retry src"],
    "npm run test": ["npm run test", "npm run test unit", "npm run test -- --watch=false"],
    "npm test": ["npm test", "npm test -- -t name"],
    "pnpm run lint:fix": ["pnpm run lint:fix"],
    "cargo test": ["cargo test", "cargo test --release -- --nocapture"],
    "go test": ["go test ./...", "go test -run TestX -v ./pkg"],
    "make test": ["make test", "make test -j4", "make test --silent"],
    "./gradlew test": ["./gradlew test", "./gradlew test --no-daemon"],
    "mvn verify": ["mvn verify", "mvn verify -q"],
    "uv run pytest": ["uv run pytest -p no:cacheprovider", "uv run pytest"],
    "uv run python -m pytest": ["uv run python -m pytest -x"],
    "poetry run mypy": ["poetry run mypy src"],
    "python -m pytest": ["python -m pytest tests"],
    ".venv/bin/python -m unittest": [".venv/bin/python -m unittest discover"],
    "python3.11 tools/gen.py": ["python3.11 tools/gen.py --out build/x"],
    "ruff": ["ruff check .", "ruff format src"],
    "ls": ["ls", "ls -la src", "ls src/*.py", "ls src/[ab].py"],
    "find": ["find . -name '*.py'", "find src -type f -newer a.txt"],
    "rg": ["rg -n retry src", "rg 'a b' -g '*.py'"],
    "sort": ["sort -u names.txt"],
    "docker ps": ["docker ps -a"],
    "kubectl get": ["kubectl get pods -n web"],
    "pip list": ["pip list --outdated"],
    "dotnet test": ["dotnet test --no-build"],
    "scripts/check.sh": ["scripts/check.sh", "scripts/check.sh --all"],
    "tsc": ["tsc --noEmit"],
}

NOT_SIMPLE = [
    *(
        "pytest; rm x",
        "pytest;",
        "pytest && rm x",
        "pytest || rm x",
        "pytest & rm x",
        "pytest &",
        "pytest | sh",
    ),
    *("pytest |& sh", "pytest $(rm x)", "pytest `rm x`", 'pytest "$(rm x)"', 'pytest "`rm x`"', "pytest $X"),
    *(
        "pytest ${X}",
        "pytest > out",
        "pytest >> out",
        "pytest < in",
        "pytest 2>err",
        "pytest 2>&1",
        "pytest &> o",
    ),
    *(
        "pytest\nrm x",
        "pytest\r\nrm x",
        "pytest\\\nrm x",
        "pytest <<EOF\nx\nEOF",
        "pytest <<< x",
        "pytest <(rm x)",
    ),
    *(
        "pytest >(rm x)",
        "(pytest)",
        "{ pytest; }",
        "pytest {a,b}",
        "pytest {1..3}",
        "! pytest",
        "pytest # and more",
    ),
    *("FOO=1 pytest", "PATH=. pytest", "LD_PRELOAD=x.so pytest", "A+=1 pytest", "a[0]=1 pytest"),
    *("pytest 'a;b'", "pytest 'a|b'", 'pytest "a&b"', "pytest 'a$(b)'", "pytest 'a`b'", "pytest 'a>b'"),
    *(
        "pytest 'unclosed",
        'pytest "unclosed',
        "pytest \\",
        "pytest a\\ b",
        "$'pytest'",
        '$"pytest"',
        "",
        "   ",
    ),
    *(
        "pytest\0x",
        "pytest \x1b[2J",
        "pytest \u202egnp",
        "pytest\u200b x",
        "pyt\u00adest",
        "pytest x\u2028rm y",
    ),
    *(
        "~/pytest",
        "pytest ~/x",
        "pytest ~root",
        "pytest --x=~/y",
        "pytest *",
        "pytest *.py",
        "pytest ?x",
        "pytest [-]x",
    ),
    *(
        "*",
        "py*",
        "?ytest",
        "[p]ytest",
        "/usr/bin/pytest",
        "../pytest",
        "a/../../pytest",
        "'pytest'",
        '"git" status',
    ),
    *("pyt'es't", "py\\test", "-x", "--", "pytest " + "x" * 5000),
]

OTHERS = [
    *(
        "sudo pytest",
        "doas pytest",
        "env pytest",
        "env A=1 pytest",
        "xargs pytest",
        "nohup pytest",
        "time pytest",
    ),
    *("timeout 5 pytest", "nice pytest", "setsid pytest", "watch pytest", "parallel pytest", "strace pytest"),
    *(
        "sh -c pytest",
        "bash -c pytest",
        "bash x.sh",
        "zsh -c x",
        "dash x",
        "eval pytest",
        "exec pytest",
        "command ls",
    ),
    *(
        "builtin ls",
        "source x.sh",
        ". x.sh",
        "trap ls EXIT",
        "alias ls=rm",
        "export A=1",
        "cd sub",
        "if true",
        "kill 1",
    ),
    *("SUDO ls", "Rm x", "busybox rm x", "/bin/sh -c x", "./sh -c x", "tools/bash x"),
]

DANGEROUS = [
    *(
        "rm x",
        "rm -rf build",
        "rmdir x",
        "unlink x",
        "shred x",
        "truncate -s 0 x",
        "dd if=a of=b",
        "mv a b",
        "cp a b",
    ),
    *(
        "mkfs.ext4 /dev/sda1",
        "mkfs /dev/sda",
        "chmod -R 777 .",
        "chown -R me .",
        "ln -sf a b",
        "tee x",
        "install a b",
    ),
    *(
        "curl http://x",
        "wget x",
        "ssh host ls",
        "scp a b:",
        "nc x 1",
        "rsync a b",
        "gh pr list",
        "aws s3 ls",
        "npx x",
    ),
    *(
        "find . -delete",
        "find . -exec rm x",
        "find . -execdir x",
        "find . -ok x",
        "find . -fprint x",
        "find . -fls x",
    ),
    *(
        "git -c alias.x=!rm status",
        "git -C .. status",
        "git --git-dir=x status",
        "git -p log",
        "git --exec-path=x log",
    ),
    *(
        "git push",
        "git push --force",
        "git reset --hard",
        "git clean -fd",
        "git checkout -- a",
        "git restore a",
    ),
    *("git stash drop", "git branch -D x", "git branch -m x", "git branch --delete x", "git branch --del x"),
    *(
        "git rebase --exec x",
        "git bisect run x",
        "git config a b",
        "git fetch",
        "git clone x",
        "git pull",
        "git x",
    ),
    *(
        "git diff --output=x",
        "git diff --outp=x",
        "git diff --ext-diff",
        "git log --textc",
        "git grep -O",
        "git grep -nOx y",
    ),
    *("git grep --open-files-in-pager=x y", "git diff --no-index a /etc/passwd", "git", "git --version"),
    *(
        "python -c x",
        "python3 -c x",
        "python",
        "python -i x.py",
        "python -m pip install x",
        "python -m http.server",
    ),
    *(
        "python -",
        "python ../x.py",
        "python /tmp/x.py",
        "python -X a x.py",
        "node -e x",
        "node --eval x",
        "perl -e x",
    ),
    *("ruby -e x", "php -r x", "awk x", "sed -i x y", "sqlite3 x", "vim x", "less x", "man x", "deno run x"),
    *(
        "npm publish",
        "npm install x",
        "npm ci",
        "npm exec x",
        "npm run deploy",
        "npm run",
        "npm run x --prefix y",
    ),
    *(
        "npm test --script-shell=x",
        "yarn publish",
        "yarn x",
        "pnpm dlx x",
        "bun x y",
        "cargo publish",
        "cargo install x",
    ),
    *(
        "cargo test --config x",
        "cargo +nightly test",
        "cargo test --manifest-path=x",
        "go run x",
        "go install x",
    ),
    *(
        "go test -exec x ./...",
        "go test --exec=x ./...",
        "go vet -vettool=x",
        "go build -toolexec x",
        "pip install x",
    ),
    *(
        "pip list --python=x",
        "uv run",
        "uv run --with x pytest",
        "uv run sh",
        "uv run python -c x",
        "uv publish",
    ),
    *(
        "poetry run rm x",
        "poetry publish",
        "bundle exec rm x",
        "docker run x",
        "docker rm x",
        "docker exec x sh",
    ),
    *(
        "kubectl delete x",
        "kubectl exec x",
        "kubectl get x --kubeconfig=y",
        "make",
        "make test clean",
        "make clean",
    ),
    *(
        "make test CC=x",
        "make test SHELL=x",
        "make -f x test",
        "make test -f x",
        "make test --file=x",
        "make deploy",
    ),
    *(
        "./gradlew publish",
        "mvn deploy",
        "mvn test deploy",
        "rg --pre=x y",
        "fd x -x rm",
        "fd -X rm",
        "sort -o a b",
    ),
    *(
        "sort --outp=a b",
        "tree -o x",
        "scripts/deploy.sh",
        "./publish",
        "dotnet run",
        "composer install",
        "mix run x",
    ),
    *(
        "terraform apply",
        "systemctl stop x",
        "killall x",
        "crontab x",
        "tar xf x",
        "unzip x",
        "apt install x",
        "open x",
    ),
]


@pytest.mark.parametrize(
    ("command", "pattern"), [(command, pattern) for pattern, commands in FITS.items() for command in commands]
)
def test_a_simple_command_has_the_pattern_of_its_first_words(command: str, pattern: str) -> None:
    assert pattern_of(command) == pattern
    assert pattern_of(pattern) == pattern


@pytest.mark.parametrize("command", NOT_SIMPLE, ids=repr)
def test_what_is_not_one_simple_command_has_none(command: str) -> None:
    assert pattern_of(command) == ""


@pytest.mark.parametrize("command", [*OTHERS, *DANGEROUS], ids=repr)
def test_what_runs_something_else_or_cannot_be_taken_back_has_none(command: str) -> None:
    assert pattern_of(command) == ""


def test_enough_was_tried() -> None:
    assert sum(map(len, FITS.values())) >= 30
    assert len({*NOT_SIMPLE, *OTHERS, *DANGEROUS}) >= 60


@pytest.mark.parametrize(
    "command", ["./gradlew test", "python gen.py", ".venv/bin/pytest", "scripts/check.sh"]
)
def test_what_is_named_by_a_path_is_known_in_the_projects_directory_only(command: str) -> None:
    assert pattern_of(command)
    assert pattern_of(command, at_root=False) == ""
    assert pattern_of("pytest", at_root=False) == "pytest"


SPECIAL = ";|&$`<>(){}\\\n\r"


@given(
    st.sampled_from(sorted(FITS)),
    st.text(string.printable, max_size=20),
    st.sampled_from(SPECIAL),
    st.text(string.printable, max_size=20),
)
@example("pytest", "'", ";", "'")
def test_no_special_character_gets_past_however_it_is_quoted(
    pattern: str, before: str, special: str, after: str
) -> None:
    assert pattern_of(f"{pattern} {before}{special}{after}") == ""


@given(
    st.lists(
        st.sampled_from(["git", "pytest", "status", "-x", "'a b'", '"c"', "--opt=1", "a.py", "=", "~x", "#"])
    )
)
def test_a_pattern_is_always_the_beginning_of_the_words_of_the_command(words: list[str]) -> None:
    command = " ".join(words)
    pattern = pattern_of(command)
    if pattern:
        assert shlex.split(command)[: len(pattern.split())] == pattern.split()
