"""Rules that read a finished task: plain text in, frozen values out, no database.

May import `memories.store.memory_types` and `common.text`, nothing else of the project.
"""
