"""The import of other agents' histories: a reader for each program, and one importer of what it finds.

A reader knows where its program keeps sessions and in which form; it trusts nothing in them. The importer
checks every event as that of an export, keeps the original ids, and takes only what is new.
"""
