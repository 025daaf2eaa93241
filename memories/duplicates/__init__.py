"""Mark duplicates among stored memories: by a verdict, a person's decision or a scan job.

May import `memories.store` and what is below it.
"""
