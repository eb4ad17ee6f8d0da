"""The recall screen: lists, searches, previews and organizes past conversations."""
