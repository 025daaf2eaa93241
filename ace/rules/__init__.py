"""Rules that read a finished task.

The rules take plain text, return frozen values and use no database. The package may import
`memories.store.memory_types` and `common.text`, and nothing else of the project.
"""
