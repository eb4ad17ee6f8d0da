"""The pane of tool calls: its rows, its list and the detail of a call."""
