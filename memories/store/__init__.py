"""Write memories: drafts and their checks, the write itself, and what a write keeps in step:

history, files, tags, vectors, and who is the original of a text.
May import `memories.near_duplicates` and the modules below it.
"""
