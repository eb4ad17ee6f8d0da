"""Text that an editor is to show as it is: it takes what it is given for Markdown."""


def fenced(text: str) -> str:
    """`text` as a block of code, of which nothing is read as markup, and nothing hidden."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
