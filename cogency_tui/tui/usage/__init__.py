"""The usage report (`/usage`): tokens, money, time, calls and hunks by model, tool, file, project or week."""
