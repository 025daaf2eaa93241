"""Adapters that let the frameworks of agents keep their memory in the service.

Each module is for one framework and imports it; the core of the client imports none.
"""
