"""What is served over HTTP: where (`listening`), and to callers nobody knows (`bounded_http`)."""
