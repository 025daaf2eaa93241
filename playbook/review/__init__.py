"""Decisions of people: accept, edit, reject, merge, rebase, reopen, revert, resolve, verify.

May import `playbook.proposals` and everything below it.
"""
