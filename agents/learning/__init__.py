"""Store what an invocation and a conversation taught, in jobs that can run twice.

`invocation_job` runs at the end of each invocation: its summary, facts, and an episode.
`conversation_job` runs at the end of a conversation: facts that were not looked for yet,
promotions, and an episode of the whole. May import `tiers`, `tools`, `ace` and below.
"""
