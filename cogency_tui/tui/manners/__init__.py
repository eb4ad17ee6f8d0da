"""How the program behaves in a terminal beside drawing: title, notice, clipboard."""
