"""`--tour`: all of the program on the offline model, in a scratch project that goes with it."""
