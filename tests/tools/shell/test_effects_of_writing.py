"""What a command may write that no table says it writes: each path that it names."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".envrc").write_text("x")
    (root / "AGENTS.md").write_text("x")
    (root / "src/a.py").write_text("x")
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


PROTECTED = [
    "sort -o .envrc a",
    "sort -uo.envrc a",
    "sort -uo .envrc a",
    "sort --outpu=.envrc a",
    "sort a --output .envrc",
    "uniq a .envrc",
    "shuf -o .envrc a",
    "xxd -r -p a .git/hooks/x",
    "split a .git/hooks/",
    "csplit -f .git/hooks/x a 2",
    "find . -fprint .envrc",
    "find . -fprintf .envrc %p",
    "find . -fls .envrc",
    "find .git/hooks -name x -exec cp evil {} ;",
    "find .git -exec tee {} +",
    "tar -C .git -xf a.tar",
    "tar xCf .git a.tar",
    "tar -xPf a.tar .envrc",
    "zip .envrc a",
    "ar r .git/hooks/x a",
    "openssl enc -in a -out .envrc",
    "iconv -o .envrc a",
    "gcc -o .git/hooks/x a.c",
    "script -qc 'echo x' .envrc",
    "scp a .git/hooks/x",
    "sqlite3 .envrc 'select 1'",
    "curl -o .envrc file:///x",
    "curl --output-dir .git/hooks -O file:///x",
    "git diff --output=.envrc",
    "git log --outpu=.envrc",
    "git archive -o .envrc HEAD",
    "git archive -o.envrc HEAD",
    "git bundle create .envrc HEAD",
    "git format-patch -o .git/hooks HEAD",
    "git checkout-index --prefix=.git/hooks/ a",
    "git worktree add .git/hooks/x",
    "git checkout evil -- .envrc",
    "git restore --source evil .envrc",
    "git mv a .git/hooks/x",
    "git config --file .git/config a.b c",
    "cp -ft.git/hooks evil",
    "cp -t.git/hooks evil",
    "cp --target-directory=.git/hooks evil",
    "install -Dt.git/hooks evil",
    "touch $'.gi\\x74/hooks/x'",
    "touch $'.\\145nvrc'",
    "rsync a .git/hooks/",
    "tree -o .envrc",
    "yq -i . .envrc",
    "unknown-program .envrc",
    "unknown-program --file=.envrc",
    "unknown-program -w.envrc",
    "python gen.py .git/hooks/x",
    "sed 'w .envrc' a",
    "sed -n 's/a/b/w .envrc' a",
    "sed -e 's/a/b/' -e 'w AGENTS.md' a",
    "awk '{print > \".envrc\"}' a",
    "ed -s a <<X\nw .envrc\nX",
    "vim -es -c 'w! .envrc' a",
    "bash <<X\necho x > .envrc\nX",
    "bash <<'X'\necho x > .envrc\nX",
    "bash <<< 'echo x > .envrc'",
    "cat <<X | sh\necho x > .envrc\nX",
    "echo 'echo x > .envrc' | sh",
    "echo 'touch .envrc' | sudo bash -s",
    "printf 'touch %s' .envrc | sh -c 'cat > .envrc'",
    "echo 'touch .envrc' > s.sh; bash s.sh",
    "cat > s.sh <<X\ntouch .envrc\nX\nsh ./s.sh",
    "printf 'touch .envrc\\n' > s.sh && chmod +x s.sh && ./s.sh",
    "echo 'touch .envrc' > s.sh; . ./s.sh",
    "trap 'touch .envrc' EXIT",
    "shopt -s expand_aliases; alias x='touch .envrc'\nx",
    "PS4='$(touch .envrc)'; set -x; true",
    "[[ -v 'a[$(touch .envrc)]' ]]",
    "test -v 'a[$(touch .envrc)]'",
    "printf -v 'a[$(touch .envrc)]' x",
    "echo $(( a[$(touch .envrc)] ))",
    "env --split-string='touch .envrc'",
    "env --split-string 'touch .envrc'",
    "python3 -c \"open('.envrc', 'w').write('x')\"",
    "python3 - <<X\nfrom pathlib import Path\nPath('.git/hooks/x').write_text('x')\nX",
    "node -e \"fs.writeFileSync('.envrc', 'x')\"",
    "perl -e 'open F, \">.envrc\"; print F 1'",
    "ruby -e 'File.write(\".envrc\", 1)'",
    "ls -d .git/hooks | xargs cp evil",
    "find .git/hooks -type d | xargs cp evil",
    "ls AGENTS.md | xargs sed -i s/a/b/",
    "git apply <<X\n--- /dev/null\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\nX",
    "patch -p1 <<X\n--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-x\n+y\nX",
    "make -f - <<X\nall:\n\ttouch .envrc\nX",
    "git update-index --add --cacheinfo 100644,abcd,AGENTS.md",
    "git update-index --add --cacheinfo=100644,abcd,AGENTS.md",
    "git update-index --add --cacheinfo 100644,$(git hash-object -w a),AGENTS.md",
    'S=$(git hash-object -w a) && git update-index --cacheinfo "100644,$S,AGENTS.md"',
    "F=AGENTS.md; git update-index --cacheinfo 100644,abcd,$F",
    "git update-index --cacheinfo 100644,abcd,{AGENTS,b}.md",
    "git update-index --cacheinfo 100644,abcd,.git/hooks/x",
    "git update-index --index-info <<< '100644 abcd\tAGENTS.md'",
    "printf '100644 abcd 0\tAGENTS.md\\n' | git update-index --index-info",
    "echo AGENTS.md > list; git update-index --add --stdin < list",
    "echo AGENTS.md | xargs git update-index --add",
    "echo AGENTS.md | git checkout-index -f --stdin",
    "echo AGENTS.md | git checkout --pathspec-from-file=-",
    "printf '100644 blob abcd\tAGENTS.md\\n' | git mktree",
    "echo 'M 100644 inline AGENTS.md' | git fast-import",
    "cat <<X | git apply --cached\n--- a/AGENTS.md\n+++ b/AGENTS.md\nX",
    "cat > a.diff <<X\n--- a/AGENTS.md\n+++ b/AGENTS.md\nX\ngit apply --cached a.diff",
    "git checkout-index -f AGENTS.md",
    "git read-tree --prefix=.vscode HEAD~1",
    "git restore --staged --source=HEAD~1 AGENTS.md",
    "tar --transform=s,a,AGENTS.md, -xf a.tar",
    "gcc -Wl,-Map=AGENTS.md a.c",
    "docker run -v ./x:.vscode/tasks.json image",
    "rsync a localhost:AGENTS.md",
    "socat - OPEN:AGENTS.md,create",
    "ffmpeg -i a -f tee '[f=x]AGENTS.md|b'",
    "qemu-img convert a raw:.envrc",
    "unknown --map=a=b,c=.vscode/tasks.json",
    "unknown --out=$PLACE/AGENTS.md",
    "unknown 'a;AGENTS.md'",
    "git checkout --theirs AGENTS.md > .vscode/tasks.json",
    "git checkout --theirs AGENTS.md; echo x > AGENTS.md",
    "git --work-tree=.git/hooks checkout --theirs x",
    "git restore --source=other --merge AGENTS.md",
    "git checkout AGENTS.md",
]

ORDINARY = [
    "git fetch origin pull/1/head",
    "git fetch origin +refs/pull/1/head:pr-1 && git checkout pr-1",
    "git fetch origin merge-requests/3/head:mr-3",
    "git show HEAD:AGENTS.md",
    "git diff HEAD:AGENTS.md HEAD~1:AGENTS.md",
    "git log -L1,2:AGENTS.md",
    "git checkout -- . ':!AGENTS.md'",
    "git restore . ':(exclude)AGENTS.md'",
    "git checkout --theirs AGENTS.md 2>/dev/null",
    "git checkout -q --ours -- AGENTS.md .vscode/tasks.json && git add AGENTS.md",
    "git checkout --conflict diff3 AGENTS.md",
    "git checkout -m AGENTS.md",
    "git restore --theirs AGENTS.md",
    "git restore --merge AGENTS.md",
    "git rebase --onto main HEAD~3",
    "echo 'See AGENTS.md' | git commit -F -",
    "echo 'See AGENTS.md' > notes.txt && git mv notes.txt docs",
    "go get example.com/x@HEAD",
    "export PATH=$HOME/.local/bin:$PATH",
    "env PATH=$PATH:$HOME/.cargo/bin cargo build",
    "flake8 --exclude node_modules,.git",
    "black --extend-exclude=.git,out .",
    "tree -I 'out|.git'",
    "rg -n 'AGENTS.md|CLAUDE.md' src",
    "grep -rnE 'a|AGENTS.md' src",
    "find . -regex './(AGENTS.md|a)'",
    "sed -i 's|AGENTS.md|README.md|' src/a.py",
    "cat AGENTS.md .envrc",
    "grep -rn x .vscode AGENTS.md",
    "git add AGENTS.md && git commit -m 'Change AGENTS.md'",
    "git diff AGENTS.md",
    "git log --oneline -- .envrc",
    "ls -la .git .git/hooks",
    "find . -not -path './.git/*' -name '*.py'",
    "find . -path ./.git -prune -o -print",
    "tar --exclude=.git -czf a.tgz src",
    "tar --exclude .git -czf a.tgz src",
    "rsync -a --exclude=.git src/ out/",
    "rg --glob '!.git' x",
    "tree -a -I .git",
    "du -sh --exclude=.git .",
    "source .envrc",
    "bash .git/hooks/pre-commit",
    "diff AGENTS.md src/a.py",
    "wc -l AGENTS.md",
    "python3 -c \"print(open('AGENTS.md').read())\"",
    "python3 -c 'print(1)'",
    "python3 - <<X\nprint(open('.envrc').read())\nX",
    "sed -n 1,5p AGENTS.md",
    "sed -i 's/AGENTS.md/README.md/' src/a.py",
    "awk '{print $1}' AGENTS.md > out",
    "sort -u AGENTS.md",
    "echo 'see .envrc'",
    "echo 'touch .envrc' > notes.txt",
    "echo x | sh -c 'cat > out'",
    "trap 'rm -f tmp' EXIT",
    "bash <<X\npytest -q\nX",
    "echo 'print(1)' > x.py; python3 x.py",
    "pytest -q tests",
    "npm test",
    "make all",
    "git status; git switch main",
    "test -f .envrc && echo yes",
    "[ -d .git ] || git init",
    "ls src | xargs wc -l",
    "git commit -m 'a $(b) c'",
]


@pytest.mark.exhaustive
@cases("command", PROTECTED)
def test_what_may_write_a_protected_file_is_asked_about(project: Path, command: str) -> None:
    assert of(project, command).protected


@cases("command", ORDINARY)
def test_what_only_names_a_protected_file_is_not(project: Path, command: str) -> None:
    assert of(project, command).protected == ""


def test_a_patch_is_asked_about_by_the_names_that_it_changes(project: Path) -> None:
    patch = "<<X\n--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-x\n+y\nX"
    for program in ("git apply", "patch -p1"):
        found = of(project, f"{program} {patch}")
        assert found.protected.startswith("AGENTS.md: ")
        assert project / "AGENTS.md" in found.covers


@pytest.mark.parametrize("command", ["cp -rt/outside x", "cp -ft/outside x", "install -Dt../new x"])
def test_a_path_outside_that_is_glued_to_options_is_seen(project: Path, command: str) -> None:
    assert of(project, command).outside


HEADS = ["git reset HEAD", "git checkout HEAD -- src", "git switch -c z HEAD", "git worktree add w HEAD"]


@cases("command", HEADS)
def test_head_is_a_commit_to_git(project: Path, command: str) -> None:
    assert not reach(command, project, Workspace(project)).protected


def test_head_is_a_file_elsewhere(project: Path) -> None:
    assert reach("git mv a HEAD", project, Workspace(project)).protected
    assert reach("cp a HEAD", project, Workspace(project)).protected
