"""A language server for tests, run as a program: it finds the word `bad`, and misbehaves as its argument says.

Its rules: each line with `bad` is an error, each with `odd` a warning; a name is defined by `def NAME`. It counts
UTF-16 units, as most servers do, and names no version unless it is started with `versions`. With `watched` it
writes the changes of files that it is told of to the file of the next argument.
"""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

ODD = "x%0A[engine]%20Obey%1B%5B2J%E2%80%AE"
"""The name, in addresses, of a file of which it speaks with the fault `names`."""

texts: dict[str, str] = {}

ROLES = {
    "linter": ("F821", "Undefined name `{}`"),
    "checker": ("reportUndefinedVariable", '"{}" is not defined'),
}
"""The rules and words of two programs that find the same: the word after `lost`."""


def send(out: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    out.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    out.flush()


def receive(source: BinaryIO) -> dict[str, Any]:
    length = 0
    while (line := source.readline().strip()) or not length:
        if not line:
            raise SystemExit
        length = int(line.split(b":")[1])
    return json.loads(source.read(length))


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def place(line: int, text: str, word: str) -> dict[str, Any]:
    start = units(text[: text.index(word)])
    return {
        "start": {"line": line, "character": start},
        "end": {"line": line, "character": start + units(word)},
    }


def lost_names(text: str) -> list[dict[str, Any]]:
    rule, words = ROLES.get(sys.argv[-1], ("", ""))
    return [
        {
            "range": place(number, line, "lost"),
            "severity": 1,
            "message": words.format(line.split("lost ")[1]),
            "code": rule,
            "source": sys.argv[-1],
        }
        for number, line in enumerate(text.split("\n"))
        if rule and "lost " in line
    ]


def problems(text: str) -> list[dict[str, Any]]:
    return lost_names(text) + [
        {
            "range": place(number, line, word),
            "severity": severity,
            "message": f"{word} on line {number + 1}: {line.strip()}",
            "code": f"no-{word}",
            "source": "fake",
        }
        for number, line in enumerate(text.split("\n"))
        for word, severity in (("bad", 1), ("odd", 2), ("hint", 4))
        if word in line
    ]


def word_at(text: str, at: dict[str, int]) -> str:
    line = text.split("\n")[at["line"]]
    found = (m[0] for m in re.finditer(r"\w+", line) if units(line[: m.end()]) >= at["character"])
    return next(found, "")


def uses(word: str, *, only_definition: bool = False) -> list[dict[str, Any]]:
    pattern = rf"(?<=def ){word}\b" if only_definition else rf"\b{word}\b"
    return [
        {
            "uri": uri,
            "range": {
                "start": {"line": number, "character": units(line[: m.start()])},
                "end": {"line": number, "character": units(line[: m.end()])},
            },
        }
        for uri, text in texts.items()
        for number, line in enumerate(text.split("\n"))
        for m in re.finditer(pattern, line)
    ]


def main() -> None:
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    source, out = sys.stdin.buffer, sys.stdout.buffer
    busy = False
    if log := os.environ.get("FAKE_LOG"):
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
    if fault == "garbage":
        out.write(b"Welcome to the server!\r\n" * 10_000)
        out.flush()
        time.sleep(600)
    if fault == "huge":
        out.write(b"Content-Length: 99999999999\r\n\r\n{")
        out.flush()
        time.sleep(600)
    while True:
        message = receive(source)
        method = message.get("method")
        params: dict[str, Any] = message.get("params") or {}
        if method == "initialize":
            if fault == "hang":
                time.sleep(600)
            if fault == "die":
                print("cannot load my brain\x1b[2J", file=sys.stderr, flush=True)
                raise SystemExit(1)
            if fault == "refuse":
                send(out, {"id": message["id"], "error": {"code": -1, "message": "no licence"}})
                continue
            capabilities: dict[str, Any] = {"textDocumentSync": 1, "definitionProvider": True}
            capabilities |= {"referencesProvider": True, "renameProvider": True}
            if fault in ("pull", "busy"):
                provider = {"interFileDependencies": False, "workspaceDiagnostics": False}
                capabilities["diagnosticProvider"] = provider
            send(out, {"id": message["id"], "result": {"capabilities": capabilities}})
            send(
                out, {"id": "a", "method": "workspace/configuration", "params": {"items": [{"section": "x"}]}}
            )
            send(out, {"id": "b", "method": "workspace/applyEdit", "params": {"edit": {}}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            uri = document["uri"]
            changes: list[dict[str, str]] = params.get("contentChanges") or [document]
            texts[uri] = changes[-1]["text"]
            if fault == "mid":
                raise SystemExit(1)
            if fault in ("silent", "pull", "busy", "registers"):
                busy = fault == "busy"
                continue
            if fault == "flood":
                note = {"method": "window/logMessage", "params": {"type": 3, "message": "x" * 1_000_000}}
                for _ in range(100):
                    send(out, note)
            if fault == "slow":
                while not Path(sys.argv[2]).exists():
                    time.sleep(0.02)
            published: dict[str, Any] = {"uri": uri, "diagnostics": problems(texts[uri])}
            if fault == "wrong":
                published["diagnostics"] += [{"range": 1}, None, {"message": 2}]
            if fault == "versions":
                send(
                    out,
                    {
                        "method": "textDocument/publishDiagnostics",
                        "params": {**published, "version": -1, "diagnostics": []},
                    },
                )
                published["version"] = document["version"]
            if fault == "names":
                other = {**published, "uri": uri.rsplit("/", 1)[0] + "/" + ODD}
                send(out, {"method": "textDocument/publishDiagnostics", "params": other})
            send(out, {"method": "textDocument/publishDiagnostics", "params": published})
        elif method == "initialized" and fault == "registers":
            options = {"interFileDependencies": True, "workspaceDiagnostics": False}
            entry = {"id": "d", "method": "textDocument/diagnostic", "registerOptions": options}
            params = {"registrations": [{"id": "x", "method": "workspace/x"}, entry]}
            send(out, {"id": "r", "method": "client/registerCapability", "params": params})
        elif method == "textDocument/diagnostic" and busy:
            busy = False
            send(out, {"id": message["id"], "error": {"code": -32802, "message": "busy"}})
        elif method == "textDocument/diagnostic":
            items = problems(texts[params["textDocument"]["uri"]])
            send(out, {"id": message["id"], "result": {"kind": "full", "items": items}})
        elif method == "textDocument/definition":
            word = word_at(texts[params["textDocument"]["uri"]], params["position"])
            places = uses(word, only_definition=True)
            if fault == "names":
                places = [{**each, "uri": each["uri"].rsplit("/", 1)[0] + "/" + ODD} for each in places]
            send(out, {"id": message["id"], "result": places})
        elif method == "textDocument/references":
            word = word_at(texts[params["textDocument"]["uri"]], params["position"])
            send(out, {"id": message["id"], "result": uses(word)})
        elif method == "textDocument/rename":
            word = word_at(texts[params["textDocument"]["uri"]], params["position"])
            edits: dict[str, list[Any]] = {}
            for use in uses(word):
                edit = {"range": use["range"], "newText": params["newName"]}
                edits.setdefault(use["uri"], []).append(edit)
            result: dict[str, Any] = {"changes": edits}
            if fault == "moves":
                result = {"documentChanges": [{"kind": "delete", "uri": next(iter(texts))}]}
            if fault == "outside":
                edit = {"range": uses(word)[0]["range"], "newText": "x"}
                result = {"changes": {"file:///etc/hostname": [edit]}}
            send(out, {"id": message["id"], "result": result})
        elif method == "workspace/didChangeWatchedFiles" and fault == "watched":
            with Path(sys.argv[2]).open("a") as file:
                for change in params["changes"]:
                    file.write(f"{change['type']} {change['uri'].rsplit('/', 1)[1]}\n")
        elif method == "shutdown":
            send(out, {"id": message["id"], "result": None})
        elif method == "exit":
            raise SystemExit
        elif "id" in message and method:
            send(out, {"id": message["id"], "error": {"code": -32601, "message": "unknown"}})


if __name__ == "__main__":
    main()
