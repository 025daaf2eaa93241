"""Base classes of the admin: lists and rows, pages, panels, filters, actions and their forms.

May import `common` outside of `api` and `erasure`, Django and the theme.
"""
