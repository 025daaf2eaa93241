"""The pages of a project's files: the directory tree, and the knowledge graph of a file.

This package may import `context`, `memories` and the console's own top-level modules.
"""
