"""Entries and everything derived from their text.

Freshness, file anchors, vectors and neighbours of an entry depend on its text.

May import `playbook.models` and `playbook.rule_text`.
"""
