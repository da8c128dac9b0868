"""Sessions as files: Pi's JSON lines (`pi`) and OpenAI's lists of messages, in and out, and
redaction.

`api` is what others call; what comes in is untrusted and every fault names its line. `reading`
reads a long file in a process of its own (`child`, and `reading_process` there), from which it
comes part by part (`arriving`).
"""
