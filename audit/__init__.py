"""The append-only record of who did what, with plain ids and names, without foreign keys.

The app may import `common` only.
"""
