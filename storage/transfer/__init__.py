"""Whole databases: copied from one to another of either kind, backed up, restored, checked; with
the contents that are kept beside them."""
