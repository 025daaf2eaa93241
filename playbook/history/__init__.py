"""The history of a playbook: revisions, their operations and votes, replay and undo.

May import `playbook.entries` and everything below it.
"""
