"""Serializers of the playbook, with one file for each noun.

No serializer writes to the database.

May import `playbook.exchange` and everything below it.
"""
