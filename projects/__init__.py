"""Organization, Project, Membership: whose data this is.

May import `inference`, `jobs`, `audit`, `common`.
"""
