"""What comes with messages: fetched once, looked at, kept, and told in the message's inbox row
before a turn begins with it. `incoming` does that for a row, `fetching` gets a file, `looking` and
`sniffing` say what it is, `pictures` makes one fit for models. Imports point to
gateway.outbound and below."""
