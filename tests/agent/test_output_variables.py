"""`$name`: what is replaced and by what, and the same in an answer that comes in pieces."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.agent.output_variables import (
    LONGEST,
    StreamedText,
    as_text,
    names_in,
    names_in_call,
    substitute,
    substitute_call,
)
from tests.cases import cases

VALUES: dict[str, Any] = {
    "name": "Ada",
    "names": ["Ada", "Bob"],
    "n": 7,
    "none": None,
    "yes": True,
    "map": {"é": [1.5]},
    "money": "$name",
    "_under": "_",
}


@cases(
    ("value", "wanted"),
    [
        ("$name", "Ada"),
        ("$n", 7),
        ("$none", None),
        ("$yes", True),
        ("$map", {"é": [1.5]}),
        ("$names", ["Ada", "Bob"]),
        ("$_under", "_"),
        # Within a text: strings as they are, the rest as JSON.
        ("Dear $name!", "Dear Ada!"),
        (" $n", " 7"),
        ("$n$n", "77"),
        ("$none, $yes, $map", 'null, true, {"é": [1.5]}'),
        # A value is not looked into again.
        ("$money", "$name"),
        ("$money $money", "$name $name"),
        # The longest name that can stand there is meant, declared or not.
        ("$names of $name", '["Ada", "Bob"] of Ada'),
        ("$namesake", "$namesake"),
        ("$name-sake", "Ada-sake"),
        # Other dollars are text.
        ("$5.00", "$5.00"),
        ("$HOME/bin:$PATH", "$HOME/bin:$PATH"),
        ("$", "$"),
        ("100 $", "100 $"),
        ("${name} $(name) $-name", "${name} $(name) $-name"),
        # An escape is the name itself; of what is no name it is text.
        ("$$name", "$name"),
        ("a $$name b", "a $name b"),
        ("$$HOME $$ $$5", "$$HOME $$ $$5"),
        ("$$$name", "$$name"),
        ("$$name$name", "$nameAda"),
        # Values of other types, and what is in them.
        (["$n", ["$name"], {"k": "$n"}], [7, ["Ada"], {"k": 7}]),
        ({"$name": "$name"}, {"$name": "Ada"}),
        (3.5, 3.5),
        (None, None),
    ],
)
def test_names_are_replaced_by_their_values(value: Any, wanted: Any) -> None:
    result = substitute(value, VALUES)
    assert result == wanted
    assert type(result) is type(wanted)


def test_the_arguments_themselves_stay_as_they_were() -> None:
    value = {"a": ["$n"]}
    substitute(value, VALUES)
    assert value == {"a": ["$n"]}


def test_names_without_a_value_here_stay_and_still_can_be_escaped() -> None:
    assert substitute("$later $$later", {}, {"later"}) == "$later $later"
    assert substitute(["$$later"], {}, {"later"}) == ["$later"]


@cases(
    ("value", "names"),
    [
        ("$name and $n", {"name", "n"}),
        ("$$name", set[str]()),
        ("$$$name", set[str]()),
        ("$namesake $HOME $5", set[str]()),
        ({"$name": [{"k": "x$n"}, 3, None]}, {"n"}),
        (None, set[str]()),
    ],
)
def test_the_names_in_a_value_are_found(value: Any, names: set[str]) -> None:
    assert names_in(value, VALUES) == names


# Arguments with an environment.


@cases(
    ("command", "wanted", "variables"),
    [
        ('echo "$name"', 'echo "$name"', {"name": "Ada"}),
        ("$name ${n} ${#map} ${!yes}", None, {"name": "Ada", "n": "7", "map": '{"é": [1.5]}', "yes": "true"}),
        ("$names$none", None, {"names": '["Ada", "Bob"]', "none": "null"}),
        ("$HOME $5 $namesake ${other}", None, {}),
        ("$$name $$HOME $$ $$5", "$name $$HOME $$ $$5", {}),
        ("$$name $name", "$name $name", {"name": "Ada"}),
        ("$$$name", "$$name", {}),
        ("$${name}", "${name}", {}),
        # A shell ends a name at the first character that is no ASCII letter.
        ("$nameé", None, {"name": "Ada"}),
        ("$money", None, {"money": "$name"}),
        (["$name"], None, {}),
        (7, None, {}),
    ],
)
def test_nothing_is_replaced_in_an_argument_with_an_environment(
    command: Any, wanted: Any, variables: dict[str, str]
) -> None:
    args = {"command": command, "cwd": "$name/x", "limit": "$n"}
    replaced, given = substitute_call(args, VALUES, VALUES, {"command"})
    assert replaced == {"command": command if wanted is None else wanted, "cwd": "Ada/x", "limit": 7}
    assert given == variables
    assert names_in_call(args, VALUES, {"command"}) == {*variables, "name", "n"}


def test_arguments_that_are_no_object_are_replaced_as_any_value() -> None:
    assert substitute_call(["$n"], VALUES, VALUES, {"command"}) == ([7], {})
    assert names_in_call("$n", VALUES, {"command"}) == {"n"}


# An answer in pieces.


class Answer:
    """A streamed answer; its values come when they are put into `known`."""

    def __init__(self, *missing: str, declared: Sequence[str] = tuple(VALUES)) -> None:
        self.known = {name: as_text(VALUES[name]) for name in declared if name not in missing}
        self.text = StreamedText(lambda: declared, self.known.get)


TEXTS = st.lists(
    st.sampled_from(
        [
            "$",
            "$$",
            "$name",
            "$names",
            "$n",
            "$na",
            "$HOME",
            "$5",
            "name",
            "s",
            "n",
            " ",
            ".",
            "_",
            "é",
            "x y",
        ]
    ),
    max_size=12,
).map("".join)


def cut(text: str, places: Sequence[int]) -> list[str]:
    stops = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:stop] for start, stop in pairwise(stops)]


@pytest.mark.exhaustive
@settings(max_examples=100)
@given(TEXTS, st.lists(st.integers(0, 100), max_size=10))
def test_every_cut_of_an_answer_comes_to_the_same(text: str, places: list[int]) -> None:
    answer = Answer().text
    pieces = [answer.feed(piece) for piece in cut(text, places)]
    wanted = as_text(substitute(f" {text}", VALUES))[1:]
    assert "".join(pieces) + answer.close() == wanted
    assert not answer.waiting
    assert answer.give_up() == ""


@pytest.mark.exhaustive
@settings(max_examples=100)
@given(
    TEXTS, st.lists(st.integers(0, 100), max_size=10), st.lists(st.integers(0, 9), max_size=3), st.booleans()
)
def test_values_that_come_late_change_nothing(
    text: str, places: list[int], turns: list[int], closed_before: bool
) -> None:
    stream = Answer("name", "names", "n")
    late = ["name", "names", "n"]
    given_so_far: list[str] = []
    for number, piece in enumerate(cut(text, places)):
        given_so_far.append(stream.text.feed(piece))
        if number in turns:
            name = late.pop()
            stream.known[name] = as_text(VALUES[name])
            given_so_far.append(stream.text.retry())
    if closed_before:
        given_so_far.append(stream.text.close())
    for name in late:
        stream.known[name] = as_text(VALUES[name])
        given_so_far.append(stream.text.retry())
    given_so_far.append(stream.text.close())
    assert not stream.text.waiting
    assert "".join(given_so_far) == as_text(substitute(f" {text}", VALUES))[1:]


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(TEXTS, st.lists(st.integers(0, 100), max_size=10))
def test_giving_up_leaves_what_is_missing_as_it_was_written(text: str, places: list[int]) -> None:
    stream = Answer("name", "names", "n")
    pieces = [stream.text.feed(piece) for piece in cut(text, places)]
    delivered = "".join([*pieces, stream.text.close()])
    rest = stream.text.give_up()
    assert not stream.text.waiting
    assert text.endswith(rest)
    before = text.removesuffix(rest)
    assert delivered == as_text(substitute(f" {before}", stream.known, VALUES))[1:]


def test_the_text_before_a_missing_value_is_given_at_once() -> None:
    stream = Answer("name")
    assert stream.text.feed("Dear $na") == "Dear "
    assert stream.text.feed("me, you have $n. ") == ""
    assert stream.text.waiting
    assert stream.text.feed("So long") == ""
    assert stream.text.retry() == ""
    stream.known["name"] = "Ada"
    assert stream.text.retry() == "Ada, you have 7. So long"
    assert not stream.text.waiting
    assert stream.text.feed("!") == "!"


def test_an_answer_that_is_over_still_waits_for_its_value() -> None:
    stream = Answer("n")
    stream.text.feed("n = $n")
    assert stream.text.close() == ""
    assert stream.text.waiting
    stream.known["n"] = "7"
    assert stream.text.close() == "7"
    assert not stream.text.waiting


def test_a_value_that_never_comes_leaves_its_name() -> None:
    stream = Answer("n")
    assert stream.text.feed("n = $n, $name") == "n = "
    assert stream.text.close() == ""
    assert stream.text.give_up() == "$n, $name"
    assert not stream.text.waiting


@cases("text", ["$HOME", "$5", "$name5", "$x", "costs $1"])
def test_what_cannot_become_a_name_is_not_held_back(text: str) -> None:
    assert Answer().text.feed(text) == text


@cases(("text", "held"), [("a $", "$"), ("a $$", "$$"), ("a $nam", "$nam"), ("$$$", "$$")])
def test_what_may_become_a_name_is_held_back_and_no_more(text: str, held: str) -> None:
    stream = Answer().text
    assert stream.feed(text) == text.removesuffix(held)
    assert stream.close() == held


def test_without_names_everything_passes() -> None:
    stream = Answer(declared=()).text
    assert [stream.feed(char) for char in "a $b $$c$"] == list("a $b $$c$")


def test_a_very_long_would_be_name_costs_no_more_than_its_length() -> None:
    asked = 0

    def value_of(name: str) -> str | None:
        nonlocal asked
        asked += 1
        return None

    stream = StreamedText(lambda: {"name"}, value_of)
    assert stream.feed("$" + "x" * 10) == "$" + "x" * 10
    stream.feed("$name")
    for _ in range(100):
        assert stream.feed(" more") == ""
    assert stream.waiting
    assert asked == 1


def test_values_that_multiply_in_an_answer_are_left_as_names() -> None:
    value = "x" * (1 << 20)
    stream = StreamedText(lambda: {"big"}, lambda _name: value)
    text = stream.feed("$big " * 40) + stream.close()
    assert len(text) < LONGEST + 1000
    assert text.endswith(" $big ")
