"""Questions to a language model: the client, the providers, budgets, prompts, fences.

A provider is one file with one `LanguageModel`, named in the table of `language_model`.
May import the modules of `inference` and `common`, not `inference.embedding`.
"""
