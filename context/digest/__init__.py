"""The budgeted digest of requirement 001: what an agent is told before a turn.

`of` gathers candidates, orders and cuts them. It may import memories and below.
"""
