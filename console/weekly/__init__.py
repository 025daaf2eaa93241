"""The weekly page: what the agents of a project learned, on a page and as Markdown."""
