"""Decisions of people about deltas, changes, conflicts and entries.

People accept, edit, reject, merge, revert, resolve and verify.

May import `playbook.lessons` and everything below it.
"""
