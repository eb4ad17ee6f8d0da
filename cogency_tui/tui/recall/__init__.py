"""The recall screen: past conversations listed, searched, looked into and put in order."""
