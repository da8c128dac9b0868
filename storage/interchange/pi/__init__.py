"""Pi's session files: JSON lines, in and out.

One line and one entry are each other's in `entry`, their chat message in `message`; `read` and
`write` take whole files. Imports point from files to lines to messages.
"""
