"""The history of a playbook: revisions, operations, votes, replay and undo.

May import `playbook.entries` and everything below it.
"""
