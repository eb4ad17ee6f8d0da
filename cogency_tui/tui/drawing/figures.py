"""Numbers as people read them: always with their unit, always about as wide."""


def duration(seconds: float) -> str:
    """`12 ms`, `2.1 s`, `14 s`, `3 min 05 s`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


def whole_seconds(seconds: float) -> str:
    """`3 s`, `2 min 05 s`: for what still runs, so that the digits stand still between seconds."""
    if seconds < 100:
        return f"{max(1, int(seconds))} s"
    return duration(seconds)


def tokens(count: int) -> str:
    """`950`, `12.4k`, `1.2M`."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def dollars(cost: float) -> str:
    """`$0.04`, `$0.0004` where it is less than a cent, `$12.31`."""
    return f"${cost:.2f}" if cost >= 0.01 or cost == 0 else f"${cost:.4f}"


def plural(count: int, noun: str) -> str:
    """`1 turn`, `12 turns`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
