"""The harnesses: one module for each, which reads its events and writes its answers.

These modules are pure: they read no database.
"""
