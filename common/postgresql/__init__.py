"""PostgreSQL as Django knows it, with a shorter look at whether a connection lives."""
