"""One hybrid search for any model that has project_id, content_tsv, content_terms, vectors.

May import `access` and everything below it; knows no model of its users.
"""
