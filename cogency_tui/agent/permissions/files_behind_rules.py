"""The files of a project that decide what a command with a permanent rule does.

Invariant: a rule is consent to the contents of these files when it is given. They are the program itself if
it is the project's, the files that it reads first to learn what to run, the modules that `python` prefers
to installed ones, and what git starts for a repository. What is run in turn (tests, recipes, plugins) is
the project's code, which such a rule covers in any state. The calls block.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.tools.shell import programs, rule_options
from cogency_tui.workspace.git.configured_programs import UndecidedError, hooks_of
from cogency_tui.workspace.nofollow_access import Directory

_SCRIPTS = programs.programs_with("scripts")
_RUNS_GIT = programs.programs_with("runs-git")
_LARGEST = 64 << 20
_MOST = 10_000
"""Names that are read in a directory."""

_PYTHON = "pyproject.toml setup.cfg tox.ini .python-version"
_NODE = "package.json .npmrc"
_YARN = ".pnp.cjs .pnp.loader.mjs .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml bunfig.toml"
_CARGO = "Cargo.toml build.rs .cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml"
_GRADLE = "*.gradle *.gradle.kts gradle.properties gradle/wrapper/* gradle/*.toml"
_MAVEN = "pom.xml .mvn/* .mvn/wrapper/*"
_MAKE = "GNUmakefile makefile Makefile *.mk *.mak"

FILES: Mapping[str, str] = {
    # Python.
    "black": _PYTHON,
    "coverage": f".coveragerc {_PYTHON}",
    "flake8": f".flake8 {_PYTHON}",
    "hatch": f"hatch.toml {_PYTHON}",
    "isort": f".isort.cfg {_PYTHON}",
    "mypy": f"mypy.ini .mypy.ini {_PYTHON}",
    "nox": f"noxfile.py {_PYTHON}",
    **dict.fromkeys(("pdm", "rye"), f"pdm.toml {_PYTHON}"),
    "pipenv": f"Pipfile .env {_PYTHON}",
    "poetry": f"poetry.toml {_PYTHON}",
    "pre-commit": ".pre-commit-config.yaml",
    "pylint": f"pylintrc .pylintrc pylintrc.toml .pylintrc.toml {_PYTHON}",
    **dict.fromkeys(("basedpyright", "pyright"), f"pyrightconfig.json {_PYTHON}"),
    "pytest": f"pytest.ini .pytest.ini pytest.toml .pytest.toml {_PYTHON}",
    "ruff": f"ruff.toml .ruff.toml {_PYTHON}",
    "tox": f"tox.toml {_PYTHON}",
    "uv": f"uv.toml .env {_PYTHON}",
    # JavaScript.
    "biome": "biome.json biome.jsonc package.json",
    **dict.fromkeys(("bun", "npm", "pnpm", "yarn"), f"{_NODE} {_YARN}"),
    "eslint": "eslint.config.* .eslintrc* package.json",
    "jest": "jest.config.* babel.config.* .babelrc* package.json",
    "lerna": f"lerna.json {_NODE} {_YARN}",
    "markdownlint": ".markdownlint*",
    "mocha": ".mocharc* package.json",
    "nx": f"nx.json project.json {_NODE} {_YARN}",
    "prettier": ".prettierrc* prettier.config.* package.json",
    "stylelint": "stylelint.config.* .stylelintrc* package.json",
    **dict.fromkeys(("tsc", "vue-tsc"), "tsconfig*.json package.json"),
    "turbo": f"turbo.json turbo.jsonc {_NODE} {_YARN}",
    "vitest": "vitest.config.* vitest.workspace.* vite.config.* package.json",
    # Rust, Go, C, Java and .NET.
    "cargo": _CARGO,
    **dict.fromkeys(("cmake", "ctest"), "CMakeLists.txt CMakePresets.json CMakeUserPresets.json"),
    "dotnet": "*.csproj *.fsproj *.vbproj *.sln *.slnx Directory.* global.json nuget.config NuGet.Config",
    "go": "go.mod go.work",
    "golangci-lint": ".golangci.*",
    **dict.fromkeys(("gradle", "gradlew"), _GRADLE),
    "meson": "meson.build",
    **dict.fromkeys(("mvn", "mvnw"), _MAVEN),
    "rustfmt": "rustfmt.toml .rustfmt.toml rust-toolchain rust-toolchain.toml",
    "staticcheck": "go.mod go.work staticcheck.conf",
    # Others that build, check and test.
    "ant": "build.xml",
    "bazel": "WORKSPACE* MODULE.bazel BUILD BUILD.bazel .bazelrc .bazelversion tools/bazel",
    "bundle": "Gemfile .bundle/config",
    **dict.fromkeys(("cabal", "stack"), "*.cabal cabal.project* stack.yaml package.yaml Setup.hs"),
    "composer": "composer.json",
    **dict.fromkeys(("dart", "flutter"), "pubspec.yaml analysis_options.yaml"),
    "just": "[jJ][uU][sS][tT][fF][iI][lL][eE] .[jJ][uU][sS][tT][fF][iI][lL][eE] *.just .env",
    **dict.fromkeys(("gmake", "make"), _MAKE),
    "mix": "mix.exs .formatter.exs .credo.exs",
    "ninja": "build.ninja",
    "phpstan": "phpstan* composer.json",
    "phpunit": "phpunit* composer.json",
    "rails": "Gemfile bin/rails config/application.rb config/boot.rb",
    "rake": "[rR]akefile [rR]akefile.rb",
    "rspec": ".rspec",
    "rubocop": ".rubocop*",
    "swift": "Package.swift",
    "swiftlint": ".swiftlint.yml",
    "task": "[tT]askfile.* [tT]askfile.dist.*",
    "zig": "build.zig build.zig.zon",
}
"""Files that a program reads to learn what to run, from the project's root on; if none are named, nothing
of the project starts anything.
"""

_WRITERS = frozenset(("clang-format", "gofmt"))
"""Programs that no file decides about, but that change files."""

_ENVIRONMENTS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Directories of programs that run in the project's environment."""

_MODULE = re.compile(r"([A-Za-z_]\w*)(?:\.[\w-]+)?\.(?:py|pyc|so|pyd)", re.ASCII)
_INCLUDE = re.compile(rb"^[ \t]*[-s]?include[ \t]+([^#\n]+)", re.MULTILINE)
_PACKAGE = ("__init__.py", "__init__.pyc")

Part = tuple[str, str]
"""The name of a deciding file, and its digest."""


def basis_of(pattern: str, project: Path) -> str | None:
    """A digest of the files and module names that decide what commands of this pattern do in `project`
    (resolved); empty if none of the project does, None if no rule is possible.
    """
    try:
        parts = list(_parts(pattern.split(" "), project))
    except (OSError, ValueError, WorkspaceError, UndecidedError):
        return None
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32] if parts else ""


def stays_inside(pattern: str, command: str, project: Path) -> bool:
    """Return whether a command of this pattern runs and changes nothing outside `project` by a path that it
    names; the paths that others read are for `reach` to judge.
    """
    words = pattern.split(" ")
    while (words[0].rpartition("/")[2], *words[1:2]) in rule_options.RUNNERS:
        words = words[2:]
    program = words[0].rpartition("/")[2]
    if not (program in FILES or program in _WRITERS or words[1:2] == ["-m"]):
        return True
    given = shlex.split(command)[1:]
    named = [path for word in given for path in (word, word.partition("=")[2], _attached(word))]
    return all(Path(os.path.realpath(project / each)).is_relative_to(project) for each in named)


def _attached(word: str) -> str:
    """The value attached to a one-letter option."""
    return word[2:] if word.startswith("-") and not word.startswith("--") else ""


def _parts(words: Sequence[str], project: Path) -> Iterator[Part]:
    places: tuple[str, ...] = ()
    while True:
        program = words[0].rpartition("/")[2]
        yield from _program(words[0], project, places)
        if (program, *words[1:2]) not in rule_options.RUNNERS:
            break
        yield from _named(FILES[program], project)
        words, places = words[2:], _ENVIRONMENTS
    name = program if program in FILES else programs.base_name(program)
    if programs.is_interpreter(program) and program not in _SCRIPTS:
        name = words[2] if words[1] == "-m" else ""
        if not name:
            yield from _file(words[1], project)
        yield from _modules(project if name else (project / words[1]).parent)
    yield from _named(FILES.get(name, ""), project)
    if FILES.get(name) == _MAKE:
        yield from _included(project)
    if name in _RUNS_GIT:
        yield from ((str(hook), _digest(hook)) for hook in hooks_of(project))


def _program(word: str, project: Path, places: Sequence[str]) -> Iterator[Part]:
    """The program itself, if it is the project's."""
    if "/" in word:
        yield from _file(word, project)
        return
    for place in (*places, *os.get_exec_path()):
        path = project / place / word
        if path.is_file() and os.access(path, os.X_OK):
            within = Path(os.path.realpath(path.parent)).is_relative_to(project)
            if within or Path(os.path.realpath(path)).is_relative_to(project):
                yield from _file(str(path), project)
            return


def _named(names: str, project: Path) -> Iterator[Part]:
    """The existing files of these names and patterns."""
    for name in names.split():
        for path in sorted(project.glob(name)):
            yield from _file(path.relative_to(project).as_posix(), project)


def _included(project: Path) -> Iterator[Part]:
    """The files that makefiles include by a name without variables."""
    waiting = [path for name in _MAKE.split() for path in project.glob(name)]
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in done or not path.is_file():
            continue
        if len(done) == _MOST:
            raise UndecidedError
        done.add(path)
        for names in _INCLUDE.findall(_content(path)):
            for name in os.fsdecode(names).split():
                if "$" not in name and not name.startswith("/"):
                    yield from _named(name, project)
                    waiting += project.glob(name)


def _file(name: str, project: Path) -> Iterator[Part]:
    """A file with its digest; one outside that a link leads to, with its path. Directories are skipped."""
    path = project / name
    real = Path(os.path.realpath(path))
    if real.is_dir() or not os.path.lexists(path):
        return
    if not real.is_relative_to(project):
        yield name, str(real)
        return
    yield name, _digest(real)


def _content(path: Path) -> bytes:
    real = Path(os.path.realpath(path))
    with Directory.open(real.parent) as directory:
        return directory.read(real.name, _LARGEST)


def _digest(path: Path) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def _modules(directory: Path) -> Iterator[Part]:
    """The names that Python finds in this directory before it searches the installed modules."""
    if not directory.is_dir():
        return
    found: set[str] = set()
    with os.scandir(directory) as scan:
        entries = list(islice(scan, _MOST))
    if len(entries) == _MOST:
        raise UndecidedError
    for entry in entries:
        if module := _MODULE.fullmatch(entry.name):
            found.add(module[1])
        elif entry.is_dir() and any((directory / entry.name / each).exists() for each in _PACKAGE):
            found.add(entry.name)
    if found:
        yield "modules", " ".join(sorted(found))
