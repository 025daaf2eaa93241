"""Write memories: check a draft, compare it, insert its row.

Also what every write keeps up to date: history, files, tags, vectors, search columns, quotas
and the original of each text. May import `memories.near_duplicates` and what is below it.
"""
