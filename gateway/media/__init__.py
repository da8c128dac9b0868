"""What comes with messages: fetched once, looked at, kept, and told in the message's inbox row
before a turn begins with it. `incoming` does that for a row, `fetching` gets a file, `looking` and
`sniffing` say what it is, `pictures` makes one fit for models. Sessions as files: `exchange` puts
pictures in and takes them out, `exporting` writes what is long in a process of its own
(`exporting_process`). Imports point to gateway.outbound and below.
"""
