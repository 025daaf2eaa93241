"""Memories with their files, tags, history, vectors and duplicates.

May import `search` and everything below it.
"""
