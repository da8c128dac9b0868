"""One session's turns: a message, a decision or a result becomes a turn of the agent.

`arrivals` takes talk in and, in a free session, begins its turn in the same transaction;
`scheduler` has a lane for each session, in which at most one turn runs, woken by commits
(`gateway/service.py`); `runner` begins a turn and does it, `answer` lets the agent answer;
`control` stops a session or holds it still; `policy` says what talk does to a running turn;
`cancellation` puts the books right after one was cut; `messages` makes entries of what people
wrote, `requests` are what commands leave to do. Commands and inbound import it.
"""
