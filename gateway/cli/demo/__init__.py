"""`bough demo`: tours of a real gateway in a process of its own, which is killed on the way.

`tour` shows delegation and a decision, `hands` the tools. They talk to a `chat_process` and end
with `costs`. What the hands take hold of is here too: `workspace` writes projects with real tests
and a configuration; `local_site` and `glossary` are servers, each a process of its own
(`site_process` starts the former). What models say and what servers hold are the YAML files. Only
`gateway.cli.main` imports this package.
"""
