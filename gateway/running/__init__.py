"""A gateway while it lives: its tasks (`service`), what messages pass through (`pipeline`), the
platforms it serves (`platforms`), what is loaded beside them (`loading`), what it says at the start
(`announcement`, `invitation`), what must be ready (`parts`), how turns are counted
(`observed_turns`), what goes on by itself (`upkeep`, `housekeeping`, `due_questions`), what keeps
all of that from holding each other up (`fairness`), what is said where its database is lost
(`loss`), and the life of its process (`process`). Only the composition root and the command line
import it.
"""
