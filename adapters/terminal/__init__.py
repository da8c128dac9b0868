"""A chat in this terminal.

`adapter` shows messages on a `screen`: drawn in place (`live_screen`, with `line_editor`, and the
log `above` it) or in plain lines (`plain_screen`). `markdown` and `wrapping` make a text fit for
it, `files` are files of this machine.
"""
