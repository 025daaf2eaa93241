"""Read a finished task: its calls, its commands, its reports, its files and how it ended.

The modules take plain text and return frozen values. They use no database, and import only
`common.text` and `memories.store.memory_types`.
"""
