"""What `bough` does on the command line: run, chat, demo, doctor, sessions.

`parser` knows the arguments, `main` starts the command, the others carry one out. Each may use the
whole gateway; nothing imports this package but `gateway/__main__`.
"""
