"""The table of the shell's programs, by walking it: what `reach` and standing rules make of each."""

from pathlib import Path

import pytest

from cogency_tui.agent.permissions.rules import pattern_of
from cogency_tui.tools.shell.effects import reach
from cogency_tui.tools.shell.programs import (
    MODULES,
    NETWORK_COMMANDS,
    PROGRAMS,
    RULES,
    RUNNERS,
    SCRIPTS,
    TARGETS,
    facts,
    is_interpreter,
)
from cogency_tui.workspace.paths import Workspace

NEVER = frozenset(("launcher", "shell", "interpreter", "network", "destructive"))
"""Facts that leave no room for a rule by a program's name."""

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


@pytest.mark.parametrize("program", sorted(PROGRAMS))
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
        assert not goes or f"{program}, which runs text that it is given" == goes
    if "reader" in known:
        assert "network" in known


@pytest.mark.parametrize("program", SPOKEN_OF)
def test_what_was_known_in_one_table_only_is_known(program: str) -> None:
    assert "network" in facts(program)


@pytest.mark.parametrize("program", sorted(NETWORK_COMMANDS))
def test_no_command_that_goes_to_the_network_has_a_rule(program: str, workspace: Workspace) -> None:
    for command in NETWORK_COMMANDS[program]:
        assert reach(f"{program} {command} x", workspace.root, workspace).network == program
        if (program, command) not in RUNNERS:
            assert f"{program} {command}" not in RULES
            assert pattern_of(f"{program} {command} x") == ""


@pytest.mark.parametrize("name", sorted(RULES))
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


@pytest.mark.parametrize("program", sorted(TARGETS))
def test_a_target_is_one_and_not_final(program: str) -> None:
    assert pattern_of(f"{program} test") == f"{program} test"
    for command in (program, f"{program} clean", f"{program} test deploy", f"{program} test X=y"):
        assert pattern_of(command) == ""


def test_wrappers_and_shells_are_in_the_table() -> None:
    for program in WRAPPERS:
        assert facts(program) & {"launcher", "shell"}, program
    for program in SHELLS:
        assert "shell" in facts(program)
    for program in ("python3.11", "node", "perl5", "php8.2", "Rscript"):
        assert is_interpreter(program)
        assert "interpreter" in facts(program)
