"""Search over everything that ever happened: a derived index beside the store, and exact answers from it.

The index only ever names candidates; what is answered was read from the store and compared. So a search
is right without an index, too, and slower.
"""
