"""The digest of requirement 001: memories for an agent before a turn, within budgets.

May import `context.selection`, `context.models`, `memories` and the apps below.
"""
