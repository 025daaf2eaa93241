"""Append-only record of who did what: plain ids and names, no foreign keys.

May import `common` only.
"""
