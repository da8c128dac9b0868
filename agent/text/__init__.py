"""Text that is untrusted or must fit: escaped, fenced, measured, cut, filled in. Pure."""
