"""Serializers of the playbook: one file for each noun; none of them writes.

May import `playbook.exchange` and everything below it.
"""
