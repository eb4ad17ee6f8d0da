"""Where a key of a TOML text stands."""

from cogency_tui.config.toml_reader import line_of_key
from tests.cases import cases

TEXT = """\
# keys = 1
theme = "day"
[keys]
"prompt.send" = "ctrl+s"
prompt.newline = "f9"
leave="ctrl+x" # recall = "x"
[other]
text = '''
leave = 1
'''
leave = 2
"""


@cases(
    ("keys", "line"),
    [
        (("theme",), 2),
        (("keys",), 3),
        (("keys", "prompt.send"), 4),
        (("keys", "prompt.newline"), 5),
        (("keys", "leave"), 6),
        (("keys", "recall"), 3),
        (("other", "leave"), 11),
        (("nothing",), 0),
    ],
)
def test_a_key_is_found_in_its_table(keys: tuple[str, ...], line: int) -> None:
    assert line_of_key(TEXT, keys) == line
    assert line_of_key(TEXT.replace("\n", "\r\n"), keys) == line
