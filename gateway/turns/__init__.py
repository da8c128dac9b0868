"""One session's turns: a message, a decision or a result becomes a turn of the agent (`turn`).

`arrivals` takes talk in and, in a free session, begins its turn in the same transaction;
`scheduler` has a lane for each session, in which at most one turn runs, woken by commits, and
`shared_scheduler` has it among processes; `runner` does a turn, `answer` lets the agent answer,
`posts` is what people see, `failures` what is tried again. `control` stops a session or holds it
still; `policy` says what talk does to a turn; `cancellation` puts the books right after a cut.
`messages` makes entries of what people wrote, `requests` are what commands leave to do. Commands
and inbound import it.
"""
