"""What screens are made of, one widget a module."""
