"""Pure functions over text: literals, secrets, prompt injection, differences.

May import neither Django nor anything else of the project.
"""
