"""How the parts of a gateway are put together, in the order in which they need each other: what all
of them stand on (`foundation`), models and what they are given (`agents`), the lanes of sessions
(`lanes`), turns (`turns`, `panel`), what comes in (`incoming`), and what runs (`tasks`). The
composition root calls them; nothing else knows more than single names of theirs.
"""
