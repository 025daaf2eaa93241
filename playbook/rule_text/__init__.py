"""The text of a rule: the gates that check the text, and the merge of two texts.

Pure functions. May import `common` only.
"""
