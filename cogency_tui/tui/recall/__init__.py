"""The recall screen: lists, searches, previews and organises past conversations."""
