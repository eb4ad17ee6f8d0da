"""The format of SKILL.md, as it is specified and as it is met."""

import pytest

from cogency_tui.agent.project.skill_file import SkillFile, read_skill_file
from tests.cases import cases


def parse(front: str, body: str = "Do it.\n", folder: str = "pdf-forms") -> SkillFile:
    return read_skill_file(f"---\n{front}\n---\n{body}".encode(), folder)


def test_all_keys_of_the_format_are_read() -> None:
    found = parse(
        "name: pdf-forms\n"
        "description: >\n  Fills forms.\n  Use for PDF.\n"
        "license: MIT\n"
        "compatibility: Requires python3\n"
        "metadata:\n  author: me\n  version: 1.0\n"
        "allowed-tools: Bash(git:*) Read"
    )
    assert found == SkillFile(
        "pdf-forms",
        "Fills forms. Use for PDF.",
        "Do it.",
        license="MIT",
        compatibility="Requires python3",
        allowed_tools="Bash(git:*) Read",
    )


def test_keys_of_claude_code_say_who_may_start_it() -> None:
    hidden = parse("name: pdf-forms\ndescription: x\ndisable-model-invocation: true")
    assert (hidden.hidden, hidden.invocable) == (True, True)
    background = parse("name: pdf-forms\ndescription: x\nuser-invocable: false")
    assert (background.hidden, background.invocable) == (False, False)


@cases(
    ("written", "description"),
    [
        ("description: plain", "plain"),
        ('description: "with: a colon"', "with: a colon"),
        ("description: |-\n  one\n  two", "one two"),
        ("description: plain\n  that goes on\n  and on", "plain that goes on and on"),
        ("description: 404", "404"),
        ("description: yes", "yes"),
        ("description:\n  - one\n  - two", "one two"),
        ("description: !!python/object/apply:os.system [id]", "id"),
    ],
)
def test_a_description_is_one_line_of_text(written: str, description: str) -> None:
    found = parse(f"name: pdf-forms\n{written}")
    assert found.description == description
    assert found.warnings == ()


@cases(
    ("written", "description"),
    [
        ("description: Use when: the user asks", "Use when: the user asks"),
        ("description: [draft] forms: all of them", "[draft] forms: all of them"),
        ("description: >\n  fold: it\n other: {", "fold: it other: {"),
        ("description: 100% of \tforms: `x`\n\tand a tab", "100% of forms: `x` and a tab"),
    ],
)
def test_what_is_no_yaml_is_read_by_lines_as_other_agents_do(written: str, description: str) -> None:
    found = parse(f"name: pdf-forms\n{written}\nlicense: MIT")
    assert (found.name, found.description, found.license) == ("pdf-forms", description, "MIT")
    assert "no valid YAML" in found.warnings[0]


@cases(
    ("front", "folder", "name", "warned"),
    [
        ("name: other\ndescription: x", "pdf", "other", "not that of its directory"),
        ("name: PDF\ndescription: x", "PDF", "PDF", "other characters than lowercase"),
        ("name: a--b\ndescription: x", "a--b", "a--b", "other characters than lowercase"),
        ("description: x", "pdf", "pdf", "has no name"),
        ("name: ../../x\ndescription: x", "pdf", "pdf", 'name "../../x" is invalid'),
        ("name: Fill in a form\ndescription: x", "pdf", "pdf", "is invalid"),
        (f"name: {'a' * 65}\ndescription: x", "pdf", "pdf", "is invalid"),
        ('name: "a\\u202eb"\ndescription: x', "pdf", "pdf", "⟨U+202E⟩"),
        ("name: [a]\ndescription: x", "pdf", "pdf", "is invalid"),
        ("name: überblick\ndescription: x", "überblick", "überblick", ""),
    ],
)
def test_a_name_against_the_format_is_a_warning(front: str, folder: str, name: str, warned: str) -> None:
    found = parse(front, folder=folder)
    assert found.name == name
    assert warned in " ".join(found.warnings)
    assert bool(found.warnings) is bool(warned)


def test_without_a_description_the_first_paragraph_is_it() -> None:
    found = parse("name: pdf-forms", "# Forms\n\nFills forms\nin PDF.\n\nThen more.")
    assert found.description == "Fills forms in PDF."
    assert "no description" in found.warnings[0]
    plain = read_skill_file(b"Fills forms.\n", "pdf-forms")
    assert (plain.name, plain.description) == ("pdf-forms", "Fills forms.")
    assert "no front matter" in plain.warnings[0]


def test_a_long_description_is_cut() -> None:
    found = parse(f"name: pdf-forms\ndescription: {'word ' * 300}")
    assert len(found.description) == 1024
    assert "1,499 characters" in found.warnings[0]


def test_a_mark_and_windows_line_ends_are_no_matter() -> None:
    data = b"\xef\xbb\xbf---\r\nname: pdf-forms\r\ndescription: x\r\n---\r\nDo\r\nit.\r\n"
    assert read_skill_file(data, "pdf-forms").text == "Do\nit."


def test_nothing_invisible_or_of_a_terminal_is_left_in_a_description() -> None:
    found = parse('name: pdf-forms\ndescription: "a\\e[2Jb\\u202ec\\u200bd\\U000E0041e\\nf"')
    assert "\x1b" not in found.description
    assert found.description.isprintable()
    assert not {"\u202e", "\u200b", "\U000e0041"} & set(found.description)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@cases(
    ("front", "problem"),
    [
        (BOMB, "alias"),
        ("name: &x pdf\ndescription: *x", "alias"),
        ("description: " + "[" * 20 + "]" * 20, "too deep"),
        ("description: x\nmetadata: [" + "a," * 3_000 + "]", "too many values"),
        ("description: x\n" + "k: v\n" * 20_000, "64 KB"),
        ("- a\n- b", "not a list of keys"),
        ("name: pdf", "no description"),
    ],
)
@pytest.mark.timeout(20)
def test_a_bomb_is_refused_at_once(front: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(front, "")


@cases(
    ("data", "problem"),
    [
        (b"---\nname: x\n", "not closed"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "no description"),
        (b"---\n---\n", "no description"),
    ],
)
def test_what_is_no_skill_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_skill_file(data, "pdf")


def test_a_directory_whose_name_cannot_be_used_needs_another() -> None:
    assert parse("name: pdf\ndescription: x", folder="a b").name == "pdf"
    with pytest.raises(ValueError, match="other characters"):
        parse("description: x", folder="a b")
