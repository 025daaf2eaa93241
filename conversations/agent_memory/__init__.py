"""Profile, soul and constraints of an agent and one user, with versions and snapshots."""
