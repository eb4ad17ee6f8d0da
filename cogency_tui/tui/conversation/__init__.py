"""The conversation pane: its view, find bar, forks, links and welcome text."""
