"""What the line-API widgets show: units of a conversation as lines of styled segments."""
