"""What may run, and who is asked first: `guard` stands before every tool, `rules` say what it does,
`operators` and `patterns` keep a rule for one command from allowing a chain of them, `question` is
what people read and `answer` what their decision means. Pure but for the guard, which reads grants.

Imports the seam of tools and what lies below it; no tool imports it.
"""
