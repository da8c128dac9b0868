"""Models and delegation: what an agent is, how it works, and how its work climbs to people.

`factory` gives each agent its model, tools and instructions; `runtime` is its loop, and builds the
context that its model is shown; `compaction` has summaries written where that grows too long;
`delegation` hands work down and matches what comes back to branch tables; `settings` is the agent's
own part of the configuration; `fairness` shares places and threads among conversations; `spans`
tells a collector of traces what took how long.
Imports point down: factory, delegation, compaction, runtime, tools, models, settings, text. Below
this package stands storage.
"""
