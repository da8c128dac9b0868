"""What `bough` does on the command line.

`parser` knows the arguments, `main` starts the command and runs a gateway; the others carry one out
that needs none: `init`, `demo`, `doctor`, with `mending` for its --fix, `sessions` with
`sessions_output`, `people`, and `database` for `bough db`. Each may use the whole gateway; nothing
imports this package but `gateway/__main__`.
"""
