"""Playbook entries, the deltas that change them, and the record of every change.

May import `memories` and everything below it.
"""
