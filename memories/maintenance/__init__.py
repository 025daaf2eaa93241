"""Jobs that keep vectors and their indexes in step with the memories.

May import `memories.duplicates`, `memories.store` and the modules below them.
"""
