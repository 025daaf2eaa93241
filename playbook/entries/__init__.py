"""Entries and what depends on their text: freshness, file anchors, vectors, neighbours.

May import `playbook.models` and `playbook.rule_text`.
"""
