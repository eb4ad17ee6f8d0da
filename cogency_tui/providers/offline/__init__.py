"""The embedded model's logic: messages in, the next reply out. No I/O, no clock, no memory of its own."""
