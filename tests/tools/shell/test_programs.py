"""The table of the shell's programs, by walking it: what `reach` and permission rules make of each, and that
no module has a list of its own."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from cogency_tui.agent.permissions.command_patterns import pattern_of
from cogency_tui.agent.permissions.files_behind_rules import FILES
from cogency_tui.tools.shell import listing_commands, network_commands, outside_effects, programs
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.options import Table
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.programs import (
    GIT,
    NETWORK_COMMANDS,
    PROGRAMS,
    Fact,
    GitFact,
    Role,
    facts,
    is_interpreter,
    options_of,
    programs_with,
)
from cogency_tui.tools.shell.rule_options import (
    GIT_OFFLINE,
    MODULES,
    RULES,
    RUNNERS,
    TARGETS,
)
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

NEVER: frozenset[Fact] = frozenset(("launcher", "shell", "builtin", "interpreter", "network", "destructive"))
"""Facts that leave no room for a rule by a program's name."""

SCRIPTS = programs_with("scripts")
WRAPPERS = programs_with("wrapper")

SPOKEN_OF = [
    "conda",
    "snap",
    "dpkg",
    "nix-shell",
    "tofu",
    "pulumi",
    "terraform",
    "mamba",
    "flatpak",
    "zypper",
    "apk",
    "kubectl",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.exhaustive
@cases("program", sorted(PROGRAMS))
def test_both_uses_agree_on_each_program(program: str, workspace: Workspace) -> None:
    known = PROGRAMS[program]
    if known & NEVER:
        assert RULES.keys().isdisjoint((program,))
        for command in (program, f"{program} x", f"{program} --version", f"tools/{program} x"):
            if program not in SCRIPTS:
                assert pattern_of(command) == ""
    goes = reach(f"{program} install x", workspace.root, workspace).network
    if "network" in known and program not in WRAPPERS:
        assert goes == program
    elif program not in NETWORK_COMMANDS:
        assert not goes or f"{program}, which runs text given to it" == goes
    if "reader" in known:
        assert "network" in known


@cases("program", SPOKEN_OF)
def test_what_was_known_in_one_table_only_is_known(program: str) -> None:
    assert "network" in facts(program)


@pytest.mark.exhaustive
@cases("program", sorted(NETWORK_COMMANDS))
def test_no_command_that_goes_to_the_network_has_a_rule(program: str, workspace: Workspace) -> None:
    for command in NETWORK_COMMANDS[program]:
        assert reach(f"{program} {command} x", workspace.root, workspace).network == program
        if (program, command) not in RUNNERS:
            assert f"{program} {command}" not in RULES
            assert pattern_of(f"{program} {command} x") == ""


@pytest.mark.exhaustive
@cases("name", sorted(RULES))
def test_each_rule_stays_here_and_refuses_what_it_does_not_name(name: str, workspace: Workspace) -> None:
    options = RULES[name]
    if name not in MODULES or pattern_of(name):
        assert pattern_of(name) == name
    assert reach(name, workspace.root, workspace).network == ""
    assert not facts(name.partition(" ")[0]) & (NEVER - {"interpreter"})
    if options.every:
        return
    for word in ("--no-such-option", "--no-such=x", "-\u00e4", "--out*"):
        assert not options.allow((word,))
    for option, kind in options.kinds.items():
        if option != "-#":
            assert options.allow((option, "x") if kind in ("value", "name") else (option,))
        # An abbreviation may be another option's.
        if option.startswith("--") and option[:-1] not in options.kinds and len(option) > 4:
            assert not options.allow((option[:-1], "x"))


@cases("program", sorted(TARGETS))
def test_a_target_is_one_and_not_final(program: str) -> None:
    assert pattern_of(f"{program} test") == f"{program} test"
    for command in (program, f"{program} clean", f"{program} test deploy", f"{program} test X=y"):
        assert pattern_of(command) == ""


def test_a_rule_with_the_options_of_a_command_of_git_is_of_a_program_that_runs_git() -> None:
    of_git = [options for name, options in RULES.items() if name.startswith("git ")]
    programs_of_git = {name.partition(" ")[0] for name, options in RULES.items() if options in of_git}
    assert programs_of_git <= programs_with("runs-git")


def test_wrappers_and_shells_are_in_the_table() -> None:
    for program in WRAPPERS:
        assert facts(program) & {"launcher", "builtin"}, program
    assert programs_with("posix") < programs_with("shell")
    assert programs_with("client", "fetches", "unproxied", "reader") <= programs_with("network")
    for program in ("python3.11", "node", "perl5", "php8.2", "Rscript"):
        assert is_interpreter(program)
        assert "interpreter" in facts(program)


def test_each_fact_is_one_and_each_program_has_one_row() -> None:
    for name, rows, known in (
        ("_PROGRAMS", PROGRAMS, get_args(Fact)),
        ("_GIT", GIT, get_args(GitFact)),
    ):
        table = vars(programs)[name]
        names = Counter(each for row in table.values() for each in row.split())
        assert set(names) == set(rows)
        assert [each for each, count in names.items() if count > 1] == []
        assert {fact for row in table for fact in row.split()} == set(known)


def test_each_program_of_options_commands_and_rules_is_in_the_table() -> None:
    with_options = {name for rows in vars(programs)["_OPTIONS_OF"].values() for name in rows}
    runners = {name for name, _ in RUNNERS}
    rules = {name.partition(" ")[0] for name in (*RULES, *TARGETS, *GIT_OFFLINE)}
    assert {*with_options, *NETWORK_COMMANDS, *rules, *runners, *MODULES, *FILES} <= set(PROGRAMS)
    assert {name.removeprefix("git ") for name in (*RULES, *GIT_OFFLINE) if name[:4] == "git "} <= set(GIT)


@cases("name", sorted(RULES))
def test_rules_and_the_table_agree_on_options_with_a_value(name: str) -> None:
    roles: tuple[Role, ...] = ("copying", "selecting", "separator", "value", "wrapping")
    for option in (option for role in roles for option in options_of(role, name)):
        assert RULES[name].every or RULES[name].kinds.get(option, "value") != "flag"


OF_LISTINGS: dict[str, Table] = {
    "fd": vars(listing_commands)["_FD"],
    "git diff": vars(listing_commands)["_GIT_DIFF"],
    "git grep": vars(listing_commands)["_GIT_GREP"],
    "git ls-files": vars(listing_commands)["_GIT_LS_FILES"],
    "rg": vars(listing_commands)["_RG"],
    **{name: vars(listing_commands)["_FILTERS"][name] for name in ("sort", "uniq")},
}


@cases("name", sorted(OF_LISTINGS))
def test_rules_and_listings_agree_on_options_with_a_value(name: str) -> None:
    known, kinds = OF_LISTINGS[name], RULES[name].kinds
    valued = {f"-{each}" for each in known.valued} | {f"--{each}" for each in known.valued_names}
    flags = {f"-{each}" for each in known.letters} | {f"--{each}" for each in known.names}
    assert all(kinds.get(option, "value") in ("value", "name") for option in valued)
    assert all(kinds.get(option, "flag") in ("flag", "optional") for option in flags)
    roles: tuple[Role, ...] = ("selecting", "value")
    assert flags.isdisjoint(option for role in roles for option in options_of(role, name))


KEYWORDS = frozenset(
    [
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "if",
        "select",
        "then",
        "until",
        "while",
    ]
)
"""Words of the shell's grammar."""

GRAMMARS = {
    ("paths_in_arguments", "_PROGRAMS"),
    ("listing_commands", "_FILTERS"),
    ("loopback", "_FILTERS"),
    ("losses", "_PROGRAMS"),
    ("network_commands", "_LITTLE_LANGUAGES"),
    ("shell_variables", "_PARTS"),
}
"""Parsers, and functions, of single programs: code, and no fact."""

OTHER_WORDS = {
    ("paths_in_arguments", "_compares_files"): "commands of git",
    ("checkout_commands", "_OTHERS"): "options",
    ("listing_commands", "_listed_by_git"): "commands of git",
    ("loopback", "_PORTS"): "schemes of addresses",
    ("loopback", "_PROXIES"): "schemes of addresses",
    ("processes_tool", "ProcessesArgs"): "actions",
    ("stream_scripts", "_AWK_VALUES"): "options",
}
"""Names that mean something else there."""

MOST_COMPARED = 3
"""Programs that one comparison may name: it selects code."""


def lists_in(tree: ast.AST) -> Iterator[list[str]]:
    """Yield the programs in each literal collection, and in each string that consists of programs."""
    if isinstance(tree, ast.Compare) and len(getattr(tree.comparators[0], "elts", ())) <= MOST_COMPARED:
        return
    within = tree.keys if isinstance(tree, ast.Dict) else getattr(tree, "elts", ())
    words = [each.value for each in within if isinstance(each, ast.Constant)]
    found = [word for word in words if isinstance(word, str) and word in PROGRAMS and word not in KEYWORDS]
    if len(found) > 1 and len(found) >= len(words) / 2:
        yield found
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        words = tree.value.split()
        found = [word for word in words if word in PROGRAMS]
        if len(found) > 2 and len(found) > len(words) * 2 / 3:
            yield found
    for node in ast.iter_child_nodes(tree):
        yield from lists_in(node)


@pytest.mark.exhaustive
@cases("path", sorted(Path(outside_effects.__file__).parent.glob("*.py")))
def test_no_module_has_a_second_list_of_programs(path: Path) -> None:
    found: list[list[str]] = []
    for node in ast.parse(path.read_text()).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        names = {each.id for each in targets if isinstance(each, ast.Name)} | {getattr(node, "name", "")}
        if not any((path.stem, name) in GRAMMARS | OTHER_WORDS.keys() for name in names):
            found += lists_in(node)
    assert bool(found) == (path.stem in ("programs", "rule_options")), found


@cases(
    "text",
    [
        'X = frozenset(("curl", "wget"))',
        'X = {"curl": 1, "wget": 2}',
        'X = """\ncurl wget\nnc\n"""',
        'def f(x):\n    return x in {"curl", "wget", "nc", "ssh"}',
    ],
)
def test_a_second_list_is_found(text: str) -> None:
    assert list(lists_in(ast.parse(text)))


@pytest.mark.parametrize("shell", sorted(programs_with("shell") - programs_with("posix")))
def test_the_code_of_every_shell_is_read(shell: str, workspace: Workspace) -> None:
    (workspace.root / "x").write_text("x")
    assert at_stake(f'{shell} -c "rm x"', workspace.root, workspace).losses


NETWORK = [
    "gmake --eval=x",
    "unset 'x[$(id)]'",
    "typeset 'x[$(id)]=1'",
    "mapfile 'x[$(id)]'",
    "poetry --host x check",
    "echo x | tcsh",
    "tcsh -c 'git push'",
    "git --config-env=x=Y status",
]


@cases("command", NETWORK)
def test_what_one_of_two_lists_had_is_network(command: str, workspace: Workspace) -> None:
    assert reach(command, workspace.root, workspace).network


PROTECTED = [
    "uniq -c x AGENTS.md",
    "printf '+++ b/AGENTS.md' > p && git --git-dir x apply p",
    "vi $X",
    "unxz $X",
]


@cases("command", PROTECTED)
def test_what_one_of_two_lists_had_is_protected(command: str, workspace: Workspace) -> None:
    assert reach(command, workspace.root, workspace).protected


@pytest.mark.parametrize("command", ["jq -C . ../x", "tr -C a ../x", "ln -s ../x a/l && 7z a b a/l"])
def test_what_one_of_two_lists_had_is_outside(command: str, workspace: Workspace) -> None:
    assert reach(command, workspace.root, workspace).outside


@cases("program", sorted(vars(network_commands)["_LITTLE_LANGUAGES"]))
def test_a_program_with_a_language_in_its_options_may_start_another(program: str) -> None:
    assert "starts" in facts(program)
