"""Text in columns: every Python string is read exactly as it was written.

SQLite's text is UTF-8. A string that is not (lone surrogates: a model's broken escape, a file name in
another encoding) is stored as a BLOB instead, which no SQL function can mistake for text.
"""


def to_column(text: str) -> str | bytes:
    """Convert `text` to a value to bind."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_column(value: str | bytes | None) -> str:
    """Convert a column's value to text; invalid bytes, which this program did not write, are replaced, and
    a value that damage has removed is empty."""
    if isinstance(value, str) or value is None:
        return value or ""
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
