import json

from agent.runtime.tool_calls import TOUCHES, file_touched


def touched(name: str, path: str, result: str) -> str:
    return file_touched(name, json.dumps({"path": path}), result)


def test_what_was_edited_counts_as_written_by_the_path_that_the_result_names() -> None:
    told = "Edited a/b.txt: 1,028 bytes, 3 lines.\nReplaced once, at line 2 of what it was."
    assert TOUCHES["edit_file"] == "wrote"
    assert touched("edit_file", "/srv/1/a/b.txt", told) == "a/b.txt"
    assert touched("edit_file", "./a/b.txt", told) == "a/b.txt"


def test_what_failed_touched_nothing() -> None:
    assert touched("edit_file", "a", "Error: a: old: is not in the file") == ""
    assert touched("send_file", "a", "Sent a: 1 bytes.") == ""
