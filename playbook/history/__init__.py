"""The history of a playbook: revisions, the operations and votes in them, replay and undo.

May import `playbook.entries` and everything below it.
"""
