"""Amounts of bytes as people read them."""

_UNITS = ("kB", "MB", "GB", "TB")


def size(count: int) -> str:
    """`950 B`, `12.4 kB`, `3.1 MB`: thousands, as file managers count."""
    if count < 1000:
        return f"{count} B"
    value, place = count / 1000, 0
    while value >= 999.5 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.1f} {_UNITS[place]}" if value < 99.95 else f"{value:.0f} {_UNITS[place]}"
