"""Which addresses may be reached, by the ways in which a forbidden one can be spelt."""

import asyncio
import socket
from ipaddress import ip_address

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.web.public_hosts import Guard, system_addresses, why_not_public
from cogency_tui.tools.web.url import LONGEST, parse
from tests.cases import cases
from tests.peers.web import Names

LOOPBACK = [
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0X7F.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0177.0.0x0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://①②⑦.0.0.1/",
    "http://0x7f。1/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:FFFF:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
]

NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "100.100.100.200",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192", "192.0.2.7",
    "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.1.1.1",
    "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::1", "2001:2::1", "2001:20::1",
    "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
    "fd20:ce::254", "fe80::1", "fec0::1", "ff02::1", "4000::1",
]  # fmt: skip

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888",
    "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
]  # fmt: skip


@cases("url", LOOPBACK)
async def test_every_spelling_of_loopback_is_refused(url: str) -> None:
    address = parse(url)
    with pytest.raises(ToolError, match="loopback"):
        Guard().check(address.host)
    with pytest.raises(ToolError, match="loopback"):
        await Guard().addresses(address.host, address.port)


@cases("address", NOT_PUBLIC)
def test_what_is_not_public_is_named(address: str) -> None:
    assert why_not_public(ip_address(address))


@cases("address", PUBLIC)
async def test_what_is_public_passes(address: str) -> None:
    assert why_not_public(ip_address(address)) == ""
    assert await Guard().addresses(address, 443) == [address]


@cases("address", [address for address in NOT_PUBLIC if ":" not in address])
def test_an_address_that_an_ipv6_address_hides_is_seen(address: str) -> None:
    assert why_not_public(ip_address(f"::ffff:{address}"))
    assert why_not_public(ip_address(f"64:ff9b::{address}"))


@cases("host", ["localhost", "localhost.", "LOCALHOST", "ⓛocalhost", "router", "metadata"])
def test_a_name_of_the_local_network_is_refused(host: str) -> None:
    with pytest.raises(ToolError, match="local network"):
        Guard().check(parse(f"http://{host}/").host)


@cases(
    ("url", "why"),
    [
        ("file:///etc/passwd", "file: is not http"),
        ("gopher://example.org/1", "gopher: is not http"),
        ("ftp://example.org/", "ftp: is not http"),
        ("javascript:alert(1)", "javascript: is not http"),
        ("data:text/html,x", "data: is not http"),
        ("example.org/x", "does not begin with http"),
        ("//example.org/x", "does not begin with http"),
        ("", "does not begin with http"),
        ("http://", "no valid host"),
        ("http:///etc/passwd", "no valid host"),
        ("http:example.org", "no valid host"),
        ("http:\\\\example.org", "no valid host"),
        ("http://me@example.org/", "user name"),
        ("http://example.org:80@127.0.0.1/", "user name"),
        ("http://example.org\\@127.0.0.1/", "user name"),
        ("http://@example.org/", "user name"),
        ("http://example.org\\.evil.org/", "no valid host"),
        ("http://exa mple.org/", "no valid host"),
        ("http://%31%32%37.0.0.1/", "no valid host"),
        ("http://a..b/", "no valid host"),
        ("http://./", "no valid host"),
        ("http://256.1.1.1/", "no valid host"),
        ("http://1.2.3.4.5/", "no valid host"),
        ("http://08.1.1.1/", "no valid host"),
        ("http://[fe80::1%25eth0]/", "no valid host"),
        ("http://[::1", "not an address"),
        ("http://[v1.x]/", "no valid host|no address"),
        ("http://／example.org/", "not an address"),
        ("http://exa\nmple.org/", "control character"),
        ("http://example.org/\x00", "control character"),
        ("http://example.org/\x1b[2J", "control character"),
        ("http://example.org:99999/", "not an address"),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:6379/", "port 6379"),
        ("http://example.org:0/", "port 0"),
        ("http://example.org/\ud800", "lone surrogate"),
        (f"http://{'a' * 64}.org/", "no valid host"),
        (f"http://{'a.' * 200}org/", "no valid host"),
        (f"http://example.org/{'a' * LONGEST}", "longer than 8,192"),
    ],
)
def test_what_is_no_address_of_a_page_is_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(ToolError, match=why) as refused:
        Guard().check(parse(url).host)
    assert "\x1b" not in str(refused.value)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ToolError) as refused:
        parse("https://me:hunter2@example.org/")
    assert "hunter2" not in refused.value.advice


@cases(
    ("url", "plain"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        (" https://example.org:443/a?b=c#d ", "https://example.org/a?b=c"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://bücher.example/ä b?q=é&r=a|b", "https://xn--bcher-kva.example/%C3%A4%20b?q=%C3%A9&r=a|b"),
        ("https://my_host.example.org/%20%zz", "https://my_host.example.org/%20%zz"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://[2606:4700:0:0::1111]:8080/x", "http://[2606:4700::1111]:8080/x"),
        ("http://example.org?q", "http://example.org/?q"),
    ],
)
def test_an_address_has_one_form(url: str, plain: str) -> None:
    assert str(parse(url)) == plain
    assert str(parse(plain)) == plain


@cases(
    ("location", "goes_to"),
    [
        ("b", "https://example.org/a/b"),
        ("/b?c", "https://example.org/b?c"),
        ("?c", "https://example.org/a/?c"),
        ("//other.org/b", "https://other.org/b"),
        ("http://other.org:8080/b", "http://other.org:8080/b"),
        ("/ü b", "https://example.org/%C3%BC%20b"),
    ],
)
def test_a_redirect_may_be_relative(location: str, goes_to: str) -> None:
    assert str(parse(location, base=parse("https://example.org/a/"))) == goes_to


@cases("location", ["file:///etc/passwd", "javascript:x", "https://a@b.org/", "//[::1"])
def test_a_redirect_is_held_to_the_same_rules(location: str) -> None:
    with pytest.raises(ToolError):
        parse(location, base=parse("https://example.org/a/"))


async def test_one_address_that_is_not_public_is_enough_to_refuse_a_name() -> None:
    names = Names(mixed_test=[["8.8.8.8", "2606:4700::1111", "10.0.0.1"]])
    with pytest.raises(ToolError, match=r"mixed\.test resolves to 10\.0\.0\.1, a private address"):
        await Guard(names).addresses("mixed.test", 443)


async def test_addresses_come_in_the_order_of_the_resolver() -> None:
    names = Names(many_test=[["2606:4700::1111", "8.8.8.8", "8.8.8.8", "1.1.1.1"]])
    assert await Guard(names).addresses("many.test", 443) == ["2606:4700::1111", "8.8.8.8", "1.1.1.1"]


@cases("answer", ["fe80::1%eth0", "::ffff:127.0.0.1", "nonsense", "127.0.0.1"])
async def test_what_a_resolver_says_is_not_believed(answer: str) -> None:
    with pytest.raises(ToolError, match=r"Blocked: odd\.test resolves to"):
        await Guard(Names(odd_test=[[answer]])).addresses("odd.test", 443)


async def test_a_name_without_addresses_is_told_so() -> None:
    with pytest.raises(ToolError, match=r"Cannot resolve none\.test: Name or service not known"):
        await Guard(Names()).addresses("none.test", 443)
    with pytest.raises(ToolError, match=r"Cannot resolve empty\.test: no address found"):
        await Guard(Names(empty_test=[[]])).addresses("empty.test", 443)


async def test_an_address_is_not_looked_up() -> None:
    names = Names()
    await Guard(names).addresses("8.8.8.8", 443)
    assert names.asked == []


async def test_the_system_is_asked_for_names() -> None:
    found = await system_addresses("localhost", 80)
    assert set(found) & {"127.0.0.1", "::1"}
    with pytest.raises((socket.gaierror, UnicodeError)):
        await system_addresses("a" * 300, 80)


async def test_a_look_up_can_be_given_up() -> None:
    asking = asyncio.ensure_future(system_addresses("localhost", 80))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    # What the thread says afterwards has nobody to go to, and must not be an error of the loop.
    assert await system_addresses("localhost", 80)
