"""Read memories: by a search, by id, by scope; explain a search and list a memory's lineage.

May import `memories.store` and what is below it.
"""
