"""Vim's keys in the prompt: `Editor` turns keys into edits of a buffer and movements of its cursor.

`commands` reads the keys; `motions` and `text_objects` find places and spans, `operators` work on these;
`register`, `repeat` and `undo_steps` remember. A place is an offset in the text; the newline at the end of a
line is a place, too. Of all this only `buffer` and `undo_steps` know the text area.
"""
