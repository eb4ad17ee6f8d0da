"""Model endpoints: messages in, text deltas and usage out."""
