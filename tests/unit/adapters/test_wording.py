"""What people are told of a connection that failed: no class of a library, no error's number."""

import pytest

from adapters.wording import network_words


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("httpx.ConnectError: [Errno -2] Name or service not known", "cannot be looked up"),
        ("httpx.ConnectError: [Errno -3] Temporary failure in name resolution", "looked up"),
        ("httpx.ConnectError: All connection attempts failed", "nothing answers at that address"),
        ("Cannot connect to host x:443 ssl:default [Name or service not known]", "looked up"),
        ("Cannot connect to host x:443 ssl:default [Connect call failed]", "nothing answers"),
        (
            "Cannot connect to host x:443 ssl:True [SSLCertVerificationError: (1, '[SSL: "
            "CERTIFICATE_VERIFY_FAILED] certificate verify failed')]",
            "certificate is not trusted",
        ),
        ("[Errno 101] Network is unreachable", "no way there"),
        ("httpx.ReadError: ", "the connection was cut"),
        ("httpx.RemoteProtocolError: Server disconnected", "Server disconnected"),
    ],
)
def test_a_failed_connection_is_told_in_words_for_people(said: str, told: str) -> None:
    words = network_words(said)
    assert told in words
    assert "Errno" not in words
    assert "httpx" not in words
