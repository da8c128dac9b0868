"""What tells people what can be typed: `help` is /help and /start, of the texts of `guide`;
`completions` are what could stand in an option.
"""
