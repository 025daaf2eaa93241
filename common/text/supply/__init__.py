"""Where code and data come from: packages, remotes, images, hosts, registries and indexes.

`sources.find_sources` finds them in a command or a text. `changes` says whether a text or a
repair leads to another one.
"""
