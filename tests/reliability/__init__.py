"""What holds whatever happens to the program."""
