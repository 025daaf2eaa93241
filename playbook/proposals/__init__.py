"""Proposals: prepare them, run the gates, decide by policy, apply them or let them wait.

May import `playbook.reading`, `playbook.conflicts` and everything below them.
"""
