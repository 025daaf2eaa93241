"""A project as ten agents leave it after a year: rows of every kind, at any size."""
