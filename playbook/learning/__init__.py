"""Learning: what a finished task adds to the playbook, and the daily search for duplicates.

May import `playbook.proposals` and everything below it.
"""
