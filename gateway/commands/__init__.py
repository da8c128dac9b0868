"""Chat commands: what people type, or press, to steer the bot itself.

`registry` lists them all and performs one; `context` is what a command is and works with; `buttons`
are what it hangs on its answer. The commands stand in `tree` and `sessions`.
"""
