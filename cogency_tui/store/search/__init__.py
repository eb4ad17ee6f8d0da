"""Search over all conversations: a derived index beside the store, and exact answers from the store.

The index only names candidates; every answer is read from the store and compared. So a search without an
index is right, too, and slower.
"""
