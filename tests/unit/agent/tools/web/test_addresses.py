"""Which addresses are public: never more than Python's own tables, whatever stands in what."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.web.addresses import refusal

PRIVATE = """0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.8.8.8 168.63.129.16
169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.168.1.1 198.18.0.1 224.0.0.1
240.0.0.1 255.255.255.255"""
PUBLIC = "1.1.1.1 8.8.8.8 93.184.216.34 172.15.0.1 172.32.0.1 100.63.0.1 2606:4700::1111"
OTHERS = """:: ::1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001::1 2001:db8::1
100::1 2002:7f00:1:: 4000::1 64:ff9b:1::1 5f00::1 2606:4700::1111%1 localhost 1.1.1"""
NETWORKS = ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16", "100.64.0.0/10")
INNER = st.sampled_from(NETWORKS).flatmap(
    lambda network: st.ip_addresses(v=4, network=IPv4Network(network))
)


@pytest.mark.parametrize("address", f"{PRIVATE} {OTHERS}".split())
def test_what_is_not_public_is_refused_in_words(address: str) -> None:
    assert refusal(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_what_is_public_is_let_through(address: str) -> None:
    assert refusal(address) is None


@given(st.ip_addresses())
def test_nothing_is_let_through_that_python_does_not_call_global(
    address: IPv4Address | IPv6Address,
) -> None:
    if refusal(str(address)) is None:
        inside = int(address) >> 32 == 0x0064_FF9B << 64
        judged = ip_address(int(address) & 0xFFFF_FFFF) if inside else address
        assert judged.is_global
        assert not judged.is_multicast
        assert not judged.is_reserved


@given(INNER)
def test_a_private_address_inside_another_is_refused(inner: IPv4Address) -> None:
    number = int(inner)
    packed = (
        IPv6Address(number),
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address((0x0064_FF9B << 96) | number),
        IPv6Address((0x2001_0000 << 96) | (number ^ 0xFFFF_FFFF)),
    )
    for address in (inner, *packed):
        assert refusal(str(address)), address


@given(st.integers(min_value=0, max_value=2**32 - 1).map(IPv4Address))
def test_behind_nat64_holds_what_holds_for_the_address_itself(inner: IPv4Address) -> None:
    outer = IPv6Address((0x0064_FF9B << 96) | int(inner))
    assert refusal(str(outer)) == refusal(str(inner))
