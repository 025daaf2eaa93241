"""What people look at beside lists and rows: home, the review inbox, drawn pages.

May import everything below `memory_project`; nothing imports it. Its views are doors:
they parse, call one function, and fill a template.
"""
