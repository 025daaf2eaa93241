"""Read memories by a search, by id or by scope.

The package also explains a search and lists the lineage of a memory. It may import
`memories.store` and what is below `memories.store`.
"""
