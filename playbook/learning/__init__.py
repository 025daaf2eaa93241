"""Learning: the changes that a finished task causes, and the daily search for duplicates.

May import `playbook.proposals` and everything below it.
"""
