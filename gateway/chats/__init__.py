"""Conversations: `settings` says what holds in each, `known_threads` which of them are threads of a
channel. Imports gateway.configuration.config and below.
"""
