"""What comes from Discord: `receiver` puts it in order and `interactions` acknowledges presses and
commands in time; `normalize`, `normalize_interaction` and `parts` make updates of it, `unreadable`
of what cannot be read; `history`, `histories` and `elsewhere` read what was missed.
"""
