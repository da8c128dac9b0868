"""Pages made readable, each by a process of its own that may take only so long and so much memory.

`process` starts it; `serving` is what runs there, with `html_page` and `markdown`, or `pdf_text`.
"""
