"""URLs are read strictly: nothing gets a host past us that another program reads differently."""

import re
import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools.web.urls import Allowed, Target, allowed_hosts, parse_url

REFUSED = {
    "ftp://example.org/": "only http",
    "file:///etc/passwd": "only http",
    "javascript:alert(1)": "only http",
    "example.org/page": "only http",
    "http://": "no host",
    "http:///path": "no host",
    "http:example.org": "no host",
    "http://user@example.org/": "user name",
    "http://user:word@example.org/": "user name",
    "http://example.org@127.0.0.1/": "user name",
    "http://2130706433/": "four plain numbers",
    "http://0x7f000001/": "four plain numbers",
    "http://0x7f.0.0.1/": "four plain numbers",
    "http://127.1/": "four plain numbers",
    "http://0177.0.0.1/": "four plain numbers",
    "http://127.0.0.1.5/": "four plain numbers",
    "http://1.2.3.256/": "four plain numbers",
    "http://example.0x/": "four plain numbers",
    "http://①②⑦.0x1/": "four plain numbers",
    "http://%31%32%37.0.0.1/": "not the name",
    "http://exa mple.org/": "no spaces",
    "http://example.org\\@127.0.0.1/": "backslashes",
    "http://example.org/a\nHost: x": "line breaks",
    "http://example.org/\u2028": "line breaks",
    "http://example.org:0/": "port 0",
    "http://example.org:22/": "port 22",
    "http://example.org:25/": "port 25",
    "http://example.org:6379/": "port 6379",
    "http://example.org:99999/": "not a URL",
    "http://example.org:x/": "not a URL",
    "http://[::1/": "not a URL",
    "http://[::g]/": "not a URL",
    "http://example..org/": "not the name",
    "http://.example.org/": "not the name",
    "http://-example.org/": "not the name",
    "http://exa\u200bmple\u3002\u3002org/": "not the name",
    f"http://{'a' * 64}.org/": "not the name",
    f"http://example.org/{'a' * 4_000}": "more than",
}
READ = {
    "HTTP://Example.ORG": "http://example.org/",
    "https://example.org.:443/a?b=c#d": "https://example.org/a?b=c",
    "http://example.org:8080/a%20b": "http://example.org:8080/a%20b",
    "https://bücher.example/ü?ö=ä": "https://xn--bcher-kva.example/%C3%BC?%C3%B6=%C3%A4",
    "http://１２７.0.0.1/": "http://127.0.0.1/",
    "http://127。0。0。1/": "http://127.0.0.1/",
    "http://[::FFFF:127.0.0.1]/": "http://[::ffff:7f00:1]/",
    "http://a_b.example/": "http://a_b.example/",
    "http://example.org/%64enied/%7e%2Fx%c3?%61=%20": "http://example.org/denied/~%2Fx%C3?a=%20",
    "http://example.org/public/../private": "http://example.org/private",
    "http://example.org/public/%2e%2E/private/.": "http://example.org/private/",
    "http://example.org/./a//b/x/..": "http://example.org/a//b/",
    "http://example.org/../../a?b=/../c": "http://example.org/a?b=/../c",
    "http://example.org/..": "http://example.org/",
    "http://example.org/%252e%252e/a": "http://example.org/%252e%252e/a",
    ' http://example.org/"<>{}`|^ '.rstrip(): "http://example.org/%22%3C%3E%7B%7D%60%7C%5E",
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_could_mean_something_else_is_refused(url: str) -> None:
    with pytest.raises(ToolError, match=REFUSED[url]):
        parse_url(url)


@pytest.mark.parametrize("url", READ)
def test_a_url_is_brought_into_one_form(url: str) -> None:
    assert parse_url(url).url == READ[url]


HOSTS = st.one_of(
    st.from_regex(r"[0-9a-fx.]{1,20}", fullmatch=True),
    st.from_regex(r"[0-9]{1,10}(\.[0-9]{1,4}){0,3}\.?", fullmatch=True),
    st.text(max_size=20),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
)


@given(HOSTS, st.text(max_size=20))
def test_a_host_that_is_taken_is_a_plain_address_or_a_name_for_everybody(
    host: str, rest: str
) -> None:
    try:
        target = parse_url(f"http://{host}/{rest}")
    except ToolError:
        return
    assert parse_url(target.url) == target
    assert re.fullmatch(r"[!-~]+", target.url)
    try:
        read = socket.inet_aton(target.host)
    except OSError:
        return
    assert target.host == str(IPv4Address(read))


@given(st.text(max_size=60))
def test_whatever_is_given_is_a_target_or_an_error_in_words(text: str) -> None:
    for base in (None, Target("https", "example.org", 443, "/a/b?c")):
        try:
            parse_url(text, base=base)
        except ToolError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "https://example.org/x"),
        ("x?y", "https://example.org/a/x?y"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
        ("?z", "https://example.org/a/b?z"),
    ],
)
def test_a_redirect_is_meant_from_where_it_comes(location: str, url: str) -> None:
    assert parse_url(location, base=Target("https", "example.org", 443, "/a/b?c")).url == url


def test_the_operators_own_hosts_may_have_any_port() -> None:
    allowed = allowed_hosts(["Wiki.Local", "10.0.0.5:22", "[::1]:8080"])
    assert allowed == Allowed(
        frozenset({"wiki.local"}), frozenset({("10.0.0.5", 22), (str(IPv6Address(1)), 8080)})
    )
    assert parse_url("http://wiki.local:25/", allowed=allowed).port == 25
    assert parse_url("http://10.0.0.5:22/", allowed=allowed).port == 22
    with pytest.raises(ToolError, match="port 25"):
        parse_url("http://10.0.0.5:25/", allowed=allowed)


@pytest.mark.parametrize("entry", ["", "a b", "http://x", "x/y", "u@x", "x:", "x:y", "127.1", "*"])
def test_an_entry_that_is_no_host_is_an_error(entry: str) -> None:
    with pytest.raises(ToolError):
        allowed_hosts([entry])


@pytest.mark.parametrize(
    "path", ["/a/..%2fb", "/a%2F../b", "/a/%2e%2e%5Cb", "/a/..%2Fb?x=1"], ids=range(4)
)
def test_a_step_up_behind_an_escaped_slash_is_refused(path: str) -> None:
    with pytest.raises(ToolError, match="escaped slash"):
        parse_url(f"http://example.com{path}")
    assert parse_url("http://example.com/a%2Fb..c").path == "/a%2Fb..c"
