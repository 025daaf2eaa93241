"""Change, delete, restore, confirm, supersede, promote and expire memories.

May import `memories.duplicates`, `memories.store` and what is below them.
"""
