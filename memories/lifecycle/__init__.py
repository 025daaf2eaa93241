"""Change, delete, restore, confirm, supersede, promote and expire a memory.

May import `memories.duplicates`, `memories.store` and the modules below them.
"""
