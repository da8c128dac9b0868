"""Text and pictures for people, of what the store holds. Writes nothing.

Entries, sessions, trees, delegations, costs. Commands and turns import it.
"""
