"""Serializers of the routes of sessions."""
