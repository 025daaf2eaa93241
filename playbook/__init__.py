"""Playbook entries, the proposals that change them, and the history of every change.

May import `memories` and everything below it.
"""
