"""The schedule tool: when something is to be done (`when`), how it repeats (`rules`), in whose time
(`zones`), and the tool itself. All but the tool is pure. `gateway.schedules` does what is due; the
order is tool > when > rules > zones."""
