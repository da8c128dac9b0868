"""What is taken out of text, and what is left."""

import pytest

from storage.interchange.redaction import redactor


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("my key is sk-proj-abcdefghijklmnop1234, yes", "my key is [redacted], yes"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "[redacted]"),
        ("xoxb-123456789012-abcdefghijkl", "[redacted]"),
        ("bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawQ/getMe", "bot[redacted]/getMe"),
        ("MTA1ODc2NjU0MzIxMDk4NzY1NA.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789ab", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "[redacted]"),
        ("Authorization: Bearer abc.def-0123456", "Authorization: Bearer [redacted]"),
        ("postgres://bob:p,w@db/x", "postgres://bob:[redacted]@db/x"),
        ("redis://:pw@host", "redis://:[redacted]@host"),
        ("export OPENAI_API_KEY='abcdef12'", "export OPENAI_API_KEY='[redacted]'"),
        ('{"password": "p@ss/word"}', '{"password": "[redacted]"}'),
        ('{\\"client_secret\\": \\"abcdef12\\"}', '{\\"client_secret\\": \\"[redacted]\\"}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- z", "[redacted] z"),
        ("-----BEGIN PRIVATE KEY-----\nand the rest is cut off", "[redacted]"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, left: str) -> None:
    assert redactor(())(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "The password is something that I forgot.",
        "tokens: 12345",
        "https://example.com:8080/a@b",
        "at 12:30 in session 00000012",
        "Basic research methodologies",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "https://example.com/sk-icon.png",
    ],
)
def test_plain_talk_is_left_alone(text: str) -> None:
    assert redactor(())(text) == text


def test_known_secrets_are_taken_out_wherever_they_stand() -> None:
    redact = redactor(["hunter2", "hunter22", 'say "x"', "abc"])
    assert redact("Xhunter22Y hunter2") == "X[redacted]Y [redacted]"
    assert redact('{"a": "say \\"x\\""}') == '{"a": "[redacted]"}'
    assert redact("abc is too short to be looked for") == "abc is too short to be looked for"
