"""Read memories: search, structured reads, explanations and lineage.

May import `memories.store.search_columns`, `memories.queries` and the modules below them.
"""
