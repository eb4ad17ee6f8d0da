"""The main screen: its panes, keys and commands of the configuration."""
