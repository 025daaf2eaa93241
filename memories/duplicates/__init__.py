"""Mark duplicates of stored memories: by a verdict, by a person's decision, by a scan job.

May import `memories.store` and the modules below it.
"""
