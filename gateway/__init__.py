"""The running bot: from a platform's event to an answer, a question or a decision.

`app` puts the parts together; `service` runs them, and wakes the session's lane, or delivery, that
a commit concerns; `platform_supervisor` keeps the platforms served; `config` reads bough.toml, and
`chats` says what holds in a conversation. A message goes through `inbound`, `turns` and `outbound`;
a press is checked in `inbound` and goes on to `questions` or `commands`.
Imports point down: cli, app, service, platform_supervisor, inbound, commands, turns, streaming,
status, views, questions, schedules, media, outbound, access, chats, config. Below stand adapters
and agent.
"""
