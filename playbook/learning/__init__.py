"""Learning: what a finished task changes, and the daily search for duplicates.

May import `playbook.proposals` and everything below it.
"""
