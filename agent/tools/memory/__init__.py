"""memory: notes for a person or a conversation, over all of their sessions.

`tool` is what the model calls, `arguments` reads its call, `keeping` says what may be noted and
which note is meant, `reading` who may read which notes and how they are told, `opening` what a
session begins with.
"""
