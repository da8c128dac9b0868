"""Text that is untrusted or must fit: escaped, fenced, measured, cut, filled in; and what is plain
though it is written otherwise, mended. Pure."""
