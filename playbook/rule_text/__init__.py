"""The text of a rule: the gates that check it, and the merge of two texts.

Pure functions. May import `common` only.
"""
