"""Models behind litellm, which is imported here only.

`model` is the seam's implementation; `streaming` hears an answer as it comes, of OpenAI's protocol
by `sse` and `chunks`; `reading` makes a reply of an answer, `errors` words of a failure;
`refusals` is what a server will not be asked for; `prices` is litellm's list, `usage` what a call
used, `prompt_cache` what providers keep of requests, `tool_choice` which of them may be told what
to call, `providers` what is special about single providers. Points to the seam.
"""
