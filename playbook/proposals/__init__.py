"""Proposals: prepare them, run the gates, decide by policy, apply them or let them wait.

May import `playbook.history`, `playbook.conflicts` and everything below them.
"""
