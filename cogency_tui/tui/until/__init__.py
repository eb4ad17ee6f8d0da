"""`/until`: work that goes on until a command succeeds."""
