"""Jobs that keep vectors and their indexes up to date.

The package may import `memories.duplicates`, `memories.store` and what is below these two.
"""
