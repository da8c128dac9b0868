"""`bough init`: asks line by line for what a bot needs, and writes bough.toml.

`lines` asks, `answers` says what is asked and tries each answer, `writing` writes the file and
`systemd` a unit, `wizard` goes from question to question.
"""
