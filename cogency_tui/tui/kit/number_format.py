"""Numbers for display: always with their unit, always about equally wide."""

from datetime import datetime

_DAY = 86_400


def duration(seconds: float) -> str:
    """`12 ms`, `2.1 s`, `1 min 39 s`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


def whole_seconds(seconds: float) -> str:
    """`3 s`, `2 min 05 s`: for running work, with stable digits between seconds."""
    if seconds < 60:
        return f"{max(1, int(seconds))} s"
    return duration(seconds)


def tokens(count: int) -> str:
    """`950`, `12.4k`, `200k`, `1.05M`."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.3g}M"


def percent(share: float) -> str:
    """`0.4%`, `23%`."""
    return f"{share:.1%}" if 0 < share < 0.0095 else f"{share:.0%}"


def counted(added: int, removed: int) -> str:
    """`+4 −1`; empty if no lines changed."""
    return " ".join([*([f"+{added}"] if added else []), *([f"−{removed}"] if removed else [])])


def dollars(cost: float) -> str:
    """`$0.04`, `$0.0004` below a cent, `$12.31`."""
    return f"${cost:.2f}" if cost >= 0.01 or cost == 0 else f"${cost:.4f}"


def price(dollars: float) -> str:
    """`$1.25`, `$10`, `$0.075`: the price of a million tokens."""
    return f"${dollars:,.10g}"


def ratio(value: float) -> str:
    """`6.1×`, `17×`."""
    return f"{value:.1f}×" if value < 10 else f"{value:.0f}×"


def when(then: float, now: float) -> str:
    """`14:05` today, `Tue 14:05` this week, `12 Mar` this year, else `12 Mar 2024`; both in Unix seconds."""
    date, today = datetime.fromtimestamp(then).astimezone(), datetime.fromtimestamp(now).astimezone()
    if date.date() == today.date():
        return f"{date:%H:%M}"
    if now - then < 6 * _DAY:
        return f"{date:%a %H:%M}"
    return f"{date.day} {date:%b}" if date.year == today.year else f"{date.day} {date:%b %Y}"


def plural(count: int, noun: str) -> str:
    """`1 turn`, `12 turns`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_UNITS = ("kB", "MB", "GB", "TB")


def size(count: int) -> str:
    """`950 B`, `12.4 kB`, `3.1 MB`: in decimal units, as in file managers."""
    if count < 1000:
        return f"{count} B"
    value, place = count / 1000, 0
    while value >= 999.5 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.1f} {_UNITS[place]}" if value < 99.95 else f"{value:.0f} {_UNITS[place]}"
