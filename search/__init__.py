"""One hybrid search for any model that has project_id, content_tsv, content_terms and vectors.

`search` runs the lanes (`keyword`, `nearest_rows`) and `fuse` joins their scores.
May import `access` and everything below it; knows no model of its users.
"""
