"""Base classes of the admin: lists, pages, panels, filters, actions and their forms.

May import `common` outside of `api` and `erasure`, Django and the theme.
"""
