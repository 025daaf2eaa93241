"""Organizations, projects and members: who owns which data.

May import `inference`, `jobs`, `audit`, `common`.
"""
