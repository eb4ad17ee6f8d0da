"""Fetching over real sockets: where a connection goes, what is followed, what is refused, what it may cost."""

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncGenerator, Iterator
from itertools import repeat

import pytest

from cogency_tui.errors import StrangerError, ToolError
from cogency_tui.tools.web.client import FetchLimits, WebClient
from cogency_tui.tools.web.public_hosts import Guard
from tests.peers.web import Names, Reply, WebPeer, both, local_guard, loopback_passes, moved, page, trust

GZIP = {"content-type": "text/plain", "content-encoding": "gzip"}


@pytest.fixture(scope="module")
def untrusting() -> ssl.SSLContext:
    """Believes no server; for those that need no certificate it saves reading all authorities."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture
async def peer() -> AsyncGenerator[WebPeer, None]:
    async with WebPeer() as peer:
        yield peer


@pytest.fixture
def client(untrusting: ssl.SSLContext) -> WebClient:
    return WebClient(local_guard(), FetchLimits(total=10), untrusting)


async def test_a_page_is_fetched(peer: WebPeer, client: WebClient) -> None:
    peer.pages["/a?b=%C3%A4"] = page("<p>Hello")
    answer = await client.get(peer.url("/a?b=ä#part"))
    assert (answer.status, answer.body, answer.content_type) == (200, b"<p>Hello", "text/html; charset=utf-8")
    assert answer.url == peer.url("/a?b=%C3%A4")


async def test_a_request_says_whom_it_asks_and_nothing_about_the_person(
    peer: WebPeer, client: WebClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETRC", "/nowhere")
    peer.pages["/"] = Reply(b"x", headers={"set-cookie": "id=1; Path=/"})
    await client.get(peer.url())
    await client.get(peer.url())
    headers = peer.requests[1].headers
    assert headers["host"] == f"site.test:{peer.port}"
    assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


async def test_the_proxies_of_the_environment_are_not_used(
    peer: WebPeer, client: WebClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.pages["/"] = page("direct")
    async with WebPeer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(host="127.0.0.1"))
        assert (await client.get(peer.url())).body == b"direct"
        assert proxy.connections == 0


async def test_where_nobody_answers_the_unused_proxy_is_named(
    client: WebClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with WebPeer() as gone:
        url = gone.url()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(ToolError, match="No connection to") as failed:
        await client.get(url)
    assert "not through the proxy in HTTPS_PROXY" in failed.value.hint


async def test_this_machine_is_not_reached_by_any_name(peer: WebPeer, untrusting: ssl.SSLContext) -> None:
    client = WebClient(Guard(), FetchLimits(), untrusting)
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "127.1", "0"):
        with pytest.raises(ToolError, match="Blocked"):
            await client.get(peer.url(host=host))
    assert peer.connections == 0


async def test_a_name_that_leads_to_this_machine_is_refused(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    names = Names(site_test=[["127.0.0.1"]])
    with pytest.raises(ToolError, match=r"site\.test resolves to 127\.0\.0\.1, a loopback address"):
        await WebClient(Guard(names), FetchLimits(), untrusting).get(peer.url())
    assert peer.connections == 0


async def test_the_connection_goes_to_the_address_that_was_checked(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    peer.pages["/"] = page("first")
    names = Names(site_test=[["127.0.0.1"], ["169.254.169.254"]])
    client = WebClient(Guard(names, loopback_passes), FetchLimits(), untrusting)
    assert (await client.get(peer.url())).body == b"first"
    assert names.asked == ["site.test"]


async def test_a_name_that_is_private_the_second_time_is_refused_then(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    peer.pages["/"] = moved("/again")
    peer.pages["/again"] = page("secret")
    names = Names(site_test=[["127.0.0.1"], ["169.254.169.254"]])
    client = WebClient(Guard(names, loopback_passes), FetchLimits(), untrusting)
    with pytest.raises(ToolError, match=r"resolves to 169\.254\.169\.254, a link-local"):
        await client.get(peer.url())
    assert peer.targets == ["/"]


async def test_the_next_address_is_tried_where_one_does_not_answer(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    peer.pages["/"] = page("here")

    def both_pass(_address: object) -> str:
        return ""

    guard = Guard(Names(site_test=[["127.0.0.2", "127.0.0.1"]]), both_pass)
    assert (await WebClient(guard, FetchLimits(), untrusting).get(peer.url())).body == b"here"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(peer: WebPeer, client: WebClient, status: int) -> None:
    peer.pages |= {"/": moved("/b/c", status), "/b/c": moved("d?x"), "/b/d?x": page("there")}
    answer = await client.get(peer.url())
    assert (answer.url, answer.body) == (peer.url("/b/d?x"), b"there")


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is a link-local address"),
        ("http://[fd00:ec2::254]/", "fd00:ec2::254 is a private address"),
        ("http://2852039166/", "169.254.169.254 is a link-local address"),
        ("//0xa9fea9fe/", "169.254.169.254 is a link-local address"),
        ("http://[::ffff:127.0.0.1]/", "is a loopback address"),
        ("http://localhost/", "a local network name"),
        ("http://inner.test/", "another host: http://inner.test/"),
        ("file:///etc/passwd", "file: is not http"),
        ("gopher://site.test/", "gopher: is not http"),
        ("javascript:alert(1)", "javascript: is not http"),
        ("http://me:pw@site.test/", "user name"),
        ("http://site.test:25/", "port 25"),
    ],
)
async def test_a_redirect_leads_nowhere_that_a_request_may_not_go(
    peer: WebPeer, untrusting: ssl.SSLContext, location: str, why: str
) -> None:
    peer.pages["/"] = moved(location)
    guard = local_guard(Names(site_test=[["127.0.0.1"]], inner_test=[["10.0.0.8"]]))
    with pytest.raises(ToolError, match=why):
        await WebClient(guard, FetchLimits(total=10), untrusting).get(peer.url())


async def test_a_circle_of_redirects_is_seen(peer: WebPeer, client: WebClient) -> None:
    peer.pages |= {"/": moved("/b"), "/b": moved("/c"), "/c": moved("/b")}
    with pytest.raises(ToolError, match=r"Redirect loop at .*/c leads back to .*/b"):
        await client.get(peer.url())
    assert peer.targets == ["/", "/b", "/c"]


async def test_redirects_come_to_an_end(peer: WebPeer, client: WebClient) -> None:
    peer.pages |= {f"/{number}": moved(f"/{number + 1}") for number in range(9)}
    with pytest.raises(ToolError, match="redirects more than 5 times"):
        await client.get(peer.url("/0"))
    assert len(peer.targets) == 6
    peer.pages["/9"] = page("end")
    assert (await client.get(peer.url("/4"))).body == b"end"


async def test_a_redirect_without_an_address_is_an_answer(peer: WebPeer, client: WebClient) -> None:
    peer.pages["/"] = Reply(b"see below", 302)
    answer = await client.get(peer.url())
    assert (answer.status_line, answer.body) == ("302 Found", b"see below")


async def test_a_certificate_is_checked_against_the_name(untrusting: ssl.SSLContext) -> None:
    async with WebPeer({"/": page("safe")}, tls=True) as peer:
        names = Names(site_test=[["127.0.0.1"]], other_test=[["127.0.0.1"]])
        client = WebClient(local_guard(names), FetchLimits(total=10), trust())
        assert (await client.get(peer.url())).body == b"safe"
        with pytest.raises(ToolError, match=r"No connection .*certificate"):
            await client.get(peer.url(host="other.test"))
        with pytest.raises(ToolError, match=r"No connection .*certificate"):
            await client.get(peer.url(host="127.0.0.1"))
        with pytest.raises(ToolError, match=r"No connection .*certificate"):
            await WebClient(local_guard(), FetchLimits(total=10), untrusting).get(peer.url())
        assert peer.targets == ["/"]


async def test_a_redirect_out_of_https_is_told(peer: WebPeer) -> None:
    peer.pages["/plain"] = page("plain")
    async with WebPeer(tls=True) as safe, both(peer, safe) as port:
        safe.pages["/"] = moved(f"http://site.test:{port}/plain")
        answer = await WebClient(local_guard(), FetchLimits(total=10), trust()).get(
            f"https://site.test:{port}/"
        )
    assert answer.body == b"plain"
    assert len(answer.notes) == 1
    assert "redirected to http" in answer.notes[0]


async def test_a_redirect_to_https_of_the_same_host_is_followed(peer: WebPeer) -> None:
    async with WebPeer({"/safe": page("safe")}, tls=True) as safe, both(peer, safe) as port:
        peer.pages["/"] = moved(f"https://site.test:{port}/safe")
        answer = await WebClient(local_guard(), FetchLimits(total=10), trust()).get(
            f"http://site.test:{port}/"
        )
    assert (answer.body, answer.notes) == (b"safe", ())


@pytest.mark.parametrize("host", ["other.test", "www.site.test", "site.test"])
async def test_a_redirect_to_another_host_or_port_is_not_followed(peer: WebPeer, host: str) -> None:
    names = Names(**{name: [["127.0.0.1"]] for name in ("site_test", "other_test", "www_site_test")})
    async with WebPeer({"/x": page("there")}) as other:
        location = other.url("/x", host)
        peer.pages |= {"/": moved("/here"), "/here": moved(location)}
        with pytest.raises(StrangerError, match=f"/here redirects to another host: {location}") as caught:
            await WebClient(local_guard(names), FetchLimits(total=10), trust()).get(peer.url())
        assert "Fetch that address" in caught.value.hint
        assert other.connections == 0


async def test_statuses_are_told_in_words_of_the_standard(peer: WebPeer, client: WebClient) -> None:
    assert (await client.get(peer.url("/none"))).status_line == "404 Not Found"
    peer.pages["/odd"] = Reply(b"", 599)
    assert (await client.get(peer.url("/odd"))).status_line == "599"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "TEXT/HTML", "application/json", "application/ld+json; x=y", "application/xml"]
    + ["application/rss+xml", "application/xhtml+xml", "text/x-python"],
)
async def test_text_is_read(peer: WebPeer, client: WebClient, content_type: str) -> None:
    peer.pages["/"] = Reply(b"x", headers={"content-type": content_type})
    assert (await client.get(peer.url())).body == b"x"


@pytest.mark.parametrize(
    "content_type",
    ["application/pdf", "image/png", "application/octet-stream", "video/mp4", "x", "textual/x"],
)
async def test_what_is_no_text_is_refused_before_it_is_read(
    peer: WebPeer, client: WebClient, content_type: str
) -> None:
    peer.pages["/"] = Reply(repeat(b"x" * 1000), headers={"content-type": content_type})
    with pytest.raises(ToolError, match=f"answered 200 OK with {content_type}, which is not text"):
        await client.get(peer.url())


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"text", mtime=0)),
        ("x-gzip", gzip.compress(b"text", mtime=0)),
        ("GZIP", gzip.compress(b"text", mtime=0) + b"\0\0 what follows is no part of it"),
        ("deflate", zlib.compress(b"text")),
        ("deflate", zlib.compress(b"text", wbits=-15)),
        ("identity", b"text"),
        ("gzip", b""),
    ],
)
async def test_what_is_packed_is_unpacked(
    peer: WebPeer, client: WebClient, encoding: str, packed: bytes
) -> None:
    peer.pages["/"] = Reply(packed, headers={"content-type": "text/plain", "content-encoding": encoding})
    assert (await client.get(peer.url())).body == (b"text" if packed else b"")
    peer.pages["/"] = Reply(
        [packed[at : at + 1] for at in range(len(packed))],
        headers={"content-type": "text/plain", "content-encoding": encoding},
    )
    assert (await client.get(peer.url())).body == (b"text" if packed else b"")


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("br", b"\x0b\x02\x80text\x03", "compressed with br, which was not requested"),
        ("gzip, gzip", b"", "compressed with gzip, gzip"),
        ("gzip", b"this is not gzip", "cannot be decompressed"),
        ("gzip", gzip.compress(b"text" * 100, mtime=0)[:-9], "incomplete"),
    ],
)
async def test_what_cannot_be_unpacked_is_refused(
    peer: WebPeer, client: WebClient, encoding: str, body: bytes, why: str
) -> None:
    peer.pages["/"] = Reply(body, headers={"content-type": "text/plain", "content-encoding": encoding})
    with pytest.raises(ToolError, match=why):
        await client.get(peer.url())


def bomb(size: int, wbits: int) -> bytes:
    packer = zlib.compressobj(9, wbits=wbits)
    block = bytes(1 << 20)
    return b"".join([packer.compress(block) for _ in range(size >> 20)]) + packer.flush()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
async def test_a_bomb_stops_in_bounded_memory(
    peer: WebPeer, client: WebClient, encoding: str, wbits: int
) -> None:
    packed = bomb(36 << 20, wbits)
    peer.pages["/"] = Reply(packed, headers={"content-type": "text/plain", "content-encoding": encoding})
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match=r"unpacked more than 5\.0 MB"):
            await client.get(peer.url())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20


async def test_a_large_page_is_refused_by_what_it_announces(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    peer.pages["/"] = Reply(b"", headers={"content-length": "123456789", "content-type": "text/plain"})
    client = WebClient(local_guard(), FetchLimits(total=10, size=1000), untrusting)
    with pytest.raises(ToolError, match=r"has 123 MB, more than 1\.0 kB"):
        await client.get(peer.url())


async def test_a_page_without_end_is_refused_when_it_is_too_large(
    peer: WebPeer, untrusting: ssl.SSLContext
) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 10_000

    peer.pages["/"] = Reply(endless(), headers={"content-type": "text/plain"})
    client = WebClient(local_guard(), FetchLimits(total=10, size=1_000_000), untrusting)
    with pytest.raises(ToolError, match=r"has more than 1\.0 MB"):
        await client.get(peer.url())
    assert sent < 10_000


async def test_a_page_of_just_the_limit_is_read(peer: WebPeer, untrusting: ssl.SSLContext) -> None:
    client = WebClient(local_guard(), FetchLimits(total=10, size=1000), untrusting)
    peer.pages["/"] = Reply(b"x" * 1000, headers={"content-type": "text/plain"})
    assert len((await client.get(peer.url())).body) == 1000
    peer.pages["/"] = Reply(gzip.compress(b"x" * 1000), headers=GZIP)
    assert len((await client.get(peer.url())).body) == 1000
    peer.pages["/"] = Reply(gzip.compress(b"x" * 1001), headers=GZIP)
    with pytest.raises(ToolError, match=r"unpacked more than 1\.0 kB"):
        await client.get(peer.url())


@pytest.mark.parametrize(
    "reply",
    [Reply(b"x" * 1000, pause=0.05), Reply(hang=True), Reply(b"x" * 1000, headers=GZIP, pause=0.05)],
    ids=["a byte at a time", "silent", "packed, a byte at a time"],
)
async def test_a_slow_server_has_only_so_much_time(
    peer: WebPeer, untrusting: ssl.SSLContext, reply: Reply
) -> None:
    if reply.headers:
        packed = gzip.compress(bytes(range(256)) * 100)
        reply = Reply(packed, headers=GZIP, pause=0.05)
    peer.pages["/"] = reply
    with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
        await WebClient(local_guard(), FetchLimits(total=0.3), untrusting).get(peer.url())


async def test_slow_redirects_share_the_time(peer: WebPeer, untrusting: ssl.SSLContext) -> None:
    peer.pages |= {f"/{number}": moved(f"/{number + 1}") for number in range(3)}
    peer.pages["/3"] = Reply(hang=True)
    with pytest.raises(ToolError, match=r"/0 took longer than 0\.5 s"):
        await WebClient(local_guard(), FetchLimits(total=0.5), untrusting).get(peer.url("/0"))


async def test_a_slow_look_up_counts(peer: WebPeer, untrusting: ssl.SSLContext) -> None:
    async def never(host: str, port: int, /) -> list[str]:
        await asyncio.Event().wait()
        return [host, str(port)]

    with pytest.raises(ToolError, match="took longer"):
        await WebClient(Guard(never), FetchLimits(total=0.2), untrusting).get(peer.url())


OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (OK + b"x-long: " + b"y" * 300_000 + b"\r\n\r\n", "did not send a valid HTTP response"),
        (OK + b"".join(b"x%d: y\r\n" % number for number in range(50_000)) + b"\r\n", "did not send"),
        (b"", "did not send a valid HTTP response"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "did not send a valid HTTP response"),
        (b"\x1b[2J\x1b]0;x\x07" * 5 + b"\r\n\r\n", "did not send a valid HTTP response"),
        (OK + b"content-length: 100\r\n\r\nshort", "did not send a valid HTTP response"),
        (OK + b"transfer-encoding: chunked\r\n\r\n5\r\nshort\r\n", "did not send a valid HTTP response"),
        (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n", "did not send a valid HTTP response"),
        (OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx", "did not send a valid HTTP response"),
    ],
    ids=[
        "long header",
        "many headers",
        "nothing",
        "ssh",
        "escapes",
        "short",
        "cut",
        "no chunk",
        "two lengths",
    ],
)
async def test_what_is_no_http_is_refused(peer: WebPeer, client: WebClient, raw: bytes, why: str) -> None:
    peer.pages["/"] = Reply(raw=raw)
    with pytest.raises(ToolError, match=why) as refused:
        await client.get(peer.url())
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


@pytest.mark.exhaustive
async def test_a_body_in_tiny_chunks_leaves_the_program_its_turns(peer: WebPeer, client: WebClient) -> None:
    chunks = b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n"
    peer.pages["/"] = Reply(raw=OK + b"transfer-encoding: chunked\r\n\r\n" + chunks)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    answer = await client.get(peer.url())
    counting.cancel()
    assert answer.body == b"x" * 20_000
    assert turns > 10_000


async def test_a_fetch_that_is_given_up_closes_its_connection(peer: WebPeer, client: WebClient) -> None:
    peer.pages["/"] = Reply(hang=True)
    fetching = asyncio.create_task(client.get(peer.url()))
    await peer.asked.wait()
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    await peer.left.wait()
