"""The loop, with a scripted model at the end of the wire and everything else real."""
