"""What `bough` does on the command line: run, chat, init, demo, doctor, sessions.

`parser` knows the arguments, `main` starts the command, the others carry one out; `mending` is
`doctor --fix`. Each may use the
whole gateway; nothing imports this package but `gateway/__main__`.
"""
