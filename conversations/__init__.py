"""Sessions of agents: messages, summaries, profile, soul and constraints.

May import memories, search, access, projects, inference, jobs, audit and common.
"""
