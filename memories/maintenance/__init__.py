"""Jobs that keep vectors and their indexes up to date.

May import `memories.duplicates`, `memories.store` and what is below them.
"""
