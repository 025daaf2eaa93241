"""Proposals: prepare them, run the gates, decide by policy, then apply them or let them wait.

May import `playbook.reading`, `playbook.conflicts` and everything below them.
"""
