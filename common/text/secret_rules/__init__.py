"""The rules by which `common.text.secrets` finds secrets: tokens, named values, URLs, commands.

May import only `common.text`.
"""
