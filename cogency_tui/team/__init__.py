"""The history of a team in a PostgreSQL database: what users share, from all their machines.

Invariant: the local store is the only writer on the way of a turn. A row there is immutable and keyed by its
origin, its conversation and its number, so that sending it again changes nothing; positions are stored here
after the server has committed. The database decides who sees what: nothing here is relied on for it.
"""
