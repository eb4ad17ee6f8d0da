"""The loop: stored events to messages, text to calls, calls to results, until the turn ends."""
