"""The digest of requirement 001: a short list of memories for an agent before a turn.

This package may import `context.selection`, `context.models`, `memories` and the apps
below `memories`.
"""
