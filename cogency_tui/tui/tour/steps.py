"""What the tour suggests, one after the other, and the project that it is about."""

import msgspec


class Step(msgspec.Struct, frozen=True):
    """Something to send, and what it shows."""

    prompt: str
    shows: str


FILES = {
    "README.md": "# Shop\n\nPrices with a discount. `python3 -m unittest` runs the tests.\n",
    "prices.py": (
        '"""Prices of the shop."""\n\n\ndef reduced(price: float, discount: float) -> float:\n'
        '    """The price less the discount, a share of it."""\n'
        "    return price + price * discount\n"
    ),
    "test_prices.py": (
        "import unittest\n\nfrom prices import reduced\n\n\n"
        "class Reduced(unittest.TestCase):\n"
        "    def test_a_tenth_is_taken_off(self):\n"
        "        self.assertEqual(reduced(100, 0.1), 90)\n\n\n"
        'if __name__ == "__main__":\n    unittest.main()\n'
    ),
}
"""The files of the project, one of which has a mistake."""

STEPS = (
    Step("explain prices.py", "It reads by itself; each call stands in the text"),
    Step("run `python3 -m unittest`", "A command is shown whole, and asks first: y runs it"),
    Step(
        "replace 'price + price' with 'price - price' in prices.py",
        "An edit asks with its diff: y makes it",
    ),
    Step("run `python3 -m unittest`", "The test again: y, or a for this conversation"),
    Step("/review", "Every edit by hunk: n takes back, Space keeps, Esc"),
    Step("/undo", "What the last turn changed is taken back: y"),
    Step("/recall unittest", "All that ever happened is found: Esc twice leaves"),
)
"""The prompts that are suggested."""

LAST = "That was it. F2: a real model. F1: all keys. Ctrl+Q leaves"
