"""Addresses that a model would have fetched: nothing on this machine or its network is reached, and nobody is
asked about what may not be."""

import asyncio
from collections.abc import Mapping

from tests.safety.arena import Arena, block

LOOPBACK = (
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1",
    "127.000.000.001",
    "127.0.0.1.",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "localhost.localdomain",
    "x.localhost",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[::]",
    "[::1%25lo]",
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
    "ⓛocalhost",
)
ELSEWHERE = (
    "169.254.169.254",
    "0xa9fea9fe",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "10.0.0.1",
    "192.168.0.1",
    "172.16.0.1",
    "100.64.0.1",
    "224.0.0.1",
    "[ff02::1]",
    "255.255.255.255",
    "metadata.google.internal",
    "[::ffff:169.254.169.254]",
    "[::ffff:10.0.0.1]",
    "198.18.0.1",
    "192.0.2.1",
)
WHOLE = (
    "file:///etc/passwd",
    "FILE:/etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:{port}/_x",
    "dict://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}/!/",
    "javascript:alert(1)",
    "data:text/html,hello",
    "view-source:http://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "/etc/passwd",
    "",
    "http://",
    "http:///",
    "http://user@127.0.0.1:{port}/",
    "http://example.org:pass@127.0.0.1:{port}/",
    "http://example.org@127.0.0.1:{port}/",
    "http://example.org\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\.example.org/",
    "http://127.0.0.1:{port}#@example.org/",
    "http://127.0.0.1:{port}?@example.org/",
    "http:127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}/",
    "http://[::1",
    "http://[127.0.0.1]:{port}/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/",
    "http://127.0.0.1:{port}/\r\nHost: example.org",
    "http://127.0.0.1\r\n:{port}/",
    "http://127.0.0.1\t:{port}/",
    "ht\ttp://127.0.0.1:{port}/",
    "http://\x1b[2J127.0.0.1:{port}/",
    "http://127.0.0.1\u202e:{port}/",
    "http://127.0.0.1%00.example.org:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://\ud800:{port}/",
    "http://" + "a." * 5000 + "org/",
    "http://" + "a" * 100 + ".org/",
    "http://xn--/",
    "http://xn--" + "9" * 60 + "/",
)


async def test_no_address_of_this_machine_is_reached_however_it_is_written(arena: Arena) -> None:
    connections = 0

    def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        addresses = [f"http://{host}:{port}/" for host in (*LOOPBACK, *ELSEWHERE)]
        addresses += [each.replace("{port}", str(port)) for each in WHOLE]
        calls: list[tuple[str, Mapping[str, object]]] = [("fetch", {"url": each}) for each in addresses]
        calls += [
            ("scrape", {"url": f"http://127.0.0.1:{port}/"}),
            ("web_scrape", {"url": "file:///etc/passwd"}),
        ]
        proxy = f"http://127.0.0.1:{port}"
        ran = await arena.converse(
            [block(*calls), "Done."],
            environ={"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "http_proxy": proxy},
        )
    assert ran.answer == "Done."
    assert connections == 0
    for (_name, args), result in zip(calls, ran.results, strict=True):
        assert result["error"], args
    # None of them is a matter of permission: nobody is asked.
    asked = [
        args["url"]
        for (_name, args), result in zip(calls, ran.results, strict=True)
        if "terminal to ask" in result["outcome"]
    ]
    assert asked == []
    assert "root:" not in ran.stdout
