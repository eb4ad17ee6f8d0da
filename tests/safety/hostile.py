"""Texts that do harm where they reach a terminal raw, or where markup is read in them."""

CONTROLS = {
    "clear": "\x1b[2J\x1b[H",
    "cursor up over a question": "\x1b[31A\x1b[K Allow it? yes \x1b[31B",
    "colour": "\x1b[31;45;5mred\x1b[0m",
    "title": "\x1b]0;PWNED\x07\x1b]2;PWNED\x1b\\",
    "clipboard": "\x1b]52;c;UFdORUQ=\x07",
    "link": "\x1b]8;;http://PWNED.test\x1b\\text\x1b]8;;\x1b\\",
    "DCS": "\x1bP0;1|17/PWNED\x1b\\\x1bPq#0;2;0;0;0\x1b\\",
    "tmux": "\x1bPtmux;\x1b\x1b]0;PWNED\x07\x1b\\",
    "APC and PM": "\x1b_GPWNED\x1b\\\x1b^PWNED\x1b\\\x1bXPWNED\x1b\\",
    "report": "\x1b[6n\x1b[c\x1b[>c\x1b[21t\x1b]10;?\x07",
    "modes": "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?2004l",
    "reset": "\x1bc\x1b[!p\x1b#8",
    "charset": "\x1b(0\x0e\x1b)0\x1bN\x1b~",
    "insert": "\x1b[4h\x1b[10@\x1b[3L\x1b[99M",
    "C1": "\x9b2J\x9d0;PWNED\x9c\x90q\x9c\x84\x85\x8d",
    "bells": "\x07\x08\x08\x08\x0b\x0c\x0e\x0f\x7f\x00",
    "returns": "innocent\rrm -rf /\x1b[K",
    "a lone escape": "text\x1b",
    "an open sequence": "text\x1b]0;PWNED",
    "an open list": "text\x1b[38;5;",
    "nested": "\x1b\x1b[[2J\x1b]\x1b]0;PWNED\x07\x07",
}
"""Sequences that a terminal acts on."""

HIDDEN = {
    "overrides": "a\u202egnp.exe\u202c\u2066b\u2069\u2067c\u2069",
    "zero width": "rm\u200b -\u200crf\u200d \ufeff\u2060x",
    "tags": "x\U000e0041\U000e0042\U000e007f",
    "separators": "one\u2028two\u2029three\x85four\x1c\x1d\x1efive",
    "lone surrogate": "one\ud800two\udfff",
    "marks": "e" + "\u0301\u0489" * 5_000,
    "blank": "\u3164\u2800\u00ad\u115f",
}
"""Characters that cannot be seen, or change what is seen."""

MARKUP = {
    "closing": "[/]",
    "open": "[b",
    "click": "[@click=app.quit]x[/]",
    "unbalanced": "[/b][red]x[bold",
    "quoted": "[link='",
    "escaped": "\\[b] \\\\[/]",
    "variables": "[$primary]$x ${y} [on $z]",
    "html": "<script>x</script><!-- <end> -->",
}
"""What Textual, Rich or Markdown might take for markup."""

ALL = {**CONTROLS, **HIDDEN, **MARKUP}

SEVERAL = ["\n".join([*ALL.values()][first::8]) for first in range(8)]
"""All of them in a few texts."""

LONGEST = 1_000_000
"""Characters of a line that does harm by its length."""
