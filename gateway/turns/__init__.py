"""One session's turns: a message, a decision or a result becomes a turn of the agent.

`scheduler` runs at most one turn a session and is woken here; `runner` begins and ends a turn;
`busy_policy` says what talk does to a running one; `cancellation` puts the books right after one
was cut; `messages` makes entries of what people wrote, `requests` are what commands leave to do.
Commands and inbound import it.
"""
