"""The running bot: from a platform's event to an answer, a question or a decision.

`app` puts the parts together (`assembly`), `running` runs them. A message goes through `inbound`,
`turns` and `outbound`, with its `media`; a press goes on to `questions` or `commands`; `schedules`
do something later, and `retention` forgets. `status`, `streaming` and `views` show what goes on,
`monitoring`, `tracing` and `logs` tell operators. `access` says who may do what, `chats` what a
chat chose, `configuration` what the file says; `models` and `toolkits` are what agents get;
`processes` divides the work. `cli` is the command line. Imports go from `cli` down to `errors`, in
the order that import-linter pins (pyproject.toml).
"""
