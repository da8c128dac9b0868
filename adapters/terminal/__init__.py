"""A chat in this terminal: drawn in place (`live_screen`) or in plain lines (`plain_screen`)."""
