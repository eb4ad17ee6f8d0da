"""The tour (`--tour`): the whole program on the offline model, in a temporary scratch project."""
