"""Read the playbook: entries, changes, proposals, past revisions, and the text for agents.

May import `playbook.history` and everything below it.
"""
