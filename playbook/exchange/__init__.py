"""The playbook on its way out and in: ACE lines, JSON with history, a managed block.

May import everything in `playbook`; only doors and commands import it.
"""
