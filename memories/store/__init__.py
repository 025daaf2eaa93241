"""Write memories: check a draft, compare it with stored memories, insert its row.

Every write also keeps other data up to date: history, files, tags, vectors, search columns,
quotas and the original of each text. The package may import `memories.near_duplicates` and
what is below `memories.near_duplicates`.
"""
