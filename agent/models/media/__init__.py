"""Beyond words: `pictures` puts them into requests, `transcription` writes down voices."""
