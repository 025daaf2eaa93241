"""Memories, their files, tags, history and duplicates.

May import `search` and everything below it.
"""
