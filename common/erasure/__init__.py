"""Erase a person's text: the columns that can hold it, and how each is redacted.

Apps register their tables in a module `personal_data`. May import `common.caller` and
Django.
"""
