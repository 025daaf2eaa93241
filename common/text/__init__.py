"""Pure functions over text: literals, secrets, prompt injection, differences.

Imports neither Django nor anything else of the project.
"""
