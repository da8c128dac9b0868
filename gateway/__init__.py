"""The running bot: from a platform's event to an answer, a question or a decision.

`app` puts the parts together; `service` runs them, and wakes whoever a commit concerns; `config`
reads bough.toml. A message goes through `inbound`, `turns` and `outbound`; a press through
`inbound` to `questions` or `commands`.
Imports point down: cli, app, service, inbound, commands, turns, status, views, questions,
outbound, access, config. Below this package stand adapters and agent.
"""
