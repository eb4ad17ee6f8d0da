"""Text in columns: every Python string comes back exactly as it went in.

SQLite's text is UTF-8. A string that is not (lone surrogates: a model's broken escape, a file name
in another encoding) is kept as a BLOB instead, which no SQL function can mistake for text.
"""


def to_column(text: str) -> str | bytes:
    """`text` as a value to bind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_column(value: str | bytes | None) -> str:
    """The text behind a column's value; bytes that this program did not write are replaced, and where damage
    has left none it is empty."""
    if isinstance(value, str) or value is None:
        return value or ""
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
