"""Change, delete, restore, confirm, supersede, promote and expire memories.

The package may import `memories.duplicates`, `memories.store` and what is below these two.
"""
