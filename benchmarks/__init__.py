"""Measured claims, run by one management command; nothing imports this."""
