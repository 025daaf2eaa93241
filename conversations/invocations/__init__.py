"""Conversation memory of seed 004: the invocations of a session, and the switches of memory.

Invocations are read in their order and never searched. May import sessions and models.
"""
