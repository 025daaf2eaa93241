"""Read the playbook: lists of entries, changes and deltas, past revisions, rendering for agents.

May import `playbook.history` and everything below it.
"""
