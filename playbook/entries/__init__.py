"""Entries and what follows from their text: freshness, file anchors, vectors, index, neighbours.

May import `playbook.models` and `playbook.rule_text`.
"""
