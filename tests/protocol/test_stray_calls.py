"""Calls that nothing runs, as models write them, and answers that only look like one (protocols.md 8.2)."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.events import RespondEvent, ThinkEvent
from cogency_tui.protocol.json_object import JsonObjectReader
from cogency_tui.protocol.stray_calls import Slip, find_slip
from tests.cases import cases
from tests.growth import assert_linear
from tests.protocol.streams import coalesce, parse

Unit = ThinkEvent | RespondEvent
TOOLS = frozenset(
    ("read", "write", "edit", "list", "find", "shell", "search", "agent", "bash", "Read", "file_read")
)


def units_of(answer: str, dialect: Dialect) -> list[Unit]:
    """The complete units of an answer without a call, as the real parser gives them."""
    units: list[Unit] = []
    for number, (kind, content) in enumerate(coalesce(parse([answer], dialect))):
        assert kind not in ("call", "execute"), "the answer has a call"
        if kind == "think":
            units.append({"type": "think", "timestamp": 0.0, "id": f"u{number}", "content": content})
        elif kind == "respond":
            units.append({"type": "respond", "timestamp": 0.0, "id": f"u{number}", "content": content})
    return units


def slip_of(answer: str, dialect: Dialect = "xml") -> Slip | None:
    return find_slip(units_of(answer, dialect), dialect, TOOLS)


READ = '{"name": "read", "args": {"file": "app.py"}}'
EXECUTE = f"<execute>\n[{READ}]\n</execute>"
ACTION = '<action type="tool" id="a1">\n{"name": "read", "parameters": {"file": "app.py"}}\n</action>'
CALLS = f"§call: {READ}\n§execute"
INVOKE = (
    '<function_calls>\n<invoke name="read">\n<parameter name="file">app.py</parameter>\n</invoke>\n'
    "</function_calls>"
)
ANTML = re.sub(r"<(/?)(?=\w)", r"<\1antml:", INVOKE)
HERMES = '<tool_call>\n{"name": "read", "arguments": {"file": "app.py"}}\n</tool_call>'
QWEN_CODER = "<tool_call>\n<function=read>\n<parameter=file>\napp.py\n</parameter>\n</function>\n</tool_call>"
OPENAI = (
    '{"tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "read", "arguments": "{\\"file\\": \\"app.py\\"}"}}]}'
)
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
    '{"file": "app.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
    '{"file": "app.py"}<|tool_call_end|><|tool_calls_section_end|>'
)
HARMONY = '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"file": "app.py"}<|call|>'
PROTOCOL_PAGE = "# Protocol\n\n```xml\n<execute>[…]</execute>\n```\n\nA block ends with `</execute>`.\n"
WRITE_PAGE = (
    '<function_calls>\n<invoke name="write">\n<parameter name="file">a.md</parameter>\n'
    f'<parameter name="content">{PROTOCOL_PAGE}</parameter>\n</invoke>\n</function_calls>'
)


@dataclass(frozen=True)
class Case:
    id: str
    dialect: Dialect
    answer: str
    cause: str
    """A part of the slip's problem; empty for an answer that is none."""


SLIPS = [
    Case("hermes-makes-up-the-result-and-answers", "xml", f"{HERMES}\n<tool_response>a</tool_response>\nIt has a line.", "invented results"),
    Case("claude-makes-up-the-results-and-answers", "xml", f"{INVOKE}\n<function_results>a</function_results>\n\nDone.", "invented results"),
    # a. In Markdown code
    Case("claude-fence-xml", "xml", f"Let me look.\n\n```xml\n{EXECUTE}\n```", "an <execute> block in a Markdown fence"),
    Case("gpt-fence-bare", "xml", f"```\n{EXECUTE}\n```", "in a Markdown fence"),
    Case("gemini-fence-of-tool-code-with-block", "xml", f"```tool_code\n{EXECUTE}\n```\n\n", "in a Markdown fence"),
    Case("llama-fence-of-tildes", "xml", f"Reading.\n~~~json\n{EXECUTE}\n~~~", "in a Markdown fence"),
    Case("qwen-fence-left-open", "xml", f"I'll read it:\n```xml\n{EXECUTE}\n", "in a Markdown fence"),
    Case("fence-left-open-with-code", "xml", f"```python\nprint(1)\n{EXECUTE}", "“```python” opens and no line closes"),
    Case("fence-left-open-with-prose", "xml", f"The loop:\n````\nwhile 1:\n\nNow I read it.\n\n{EXECUTE}", "“````” opens and no line closes"),
    Case("fence-in-a-fence-of-markdown", "xml", f"```markdown\n# A\n```python\nx\n```\n```\n\nNow:\n{EXECUTE}", "opens and no line closes"),
    Case("fence-closed-with-text-on-the-line", "xml", f"```python\nx\n``` is the loop.\n\n{EXECUTE}", "opens and no line closes"),
    Case("fence-left-open-before-actions", "action", f"```\nx\n\n{ACTION}\n{ACTION}", "opens and no line closes"),
    Case("fence-of-prose-and-block", "xml", f"```xml\nI read the file.\n{EXECUTE}\n```", "an <execute> block in a Markdown fence"),
    Case("qwen-fence-cut-in-string", "xml", '```xml\n<execute>\n[{"name": "write", "args": {"file": "a", "content": "x = ', "in a Markdown fence"),
    Case("mistral-fence-cut-before-closing-marker", "xml", f"```xml\n<execute>\n[{READ}]\n```", "in a Markdown fence"),
    Case("gpt-fence-with-comment", "xml", f"```xml\n<!-- read the file -->\n{EXECUTE}\n```", "in a Markdown fence"),
    Case("gpt-fence-with-hash-comment", "xml", f"```\n# read the file\n{EXECUTE}\n```", "in a Markdown fence"),
    Case("gemini-fence-around-thought-and-block", "xml", f"```xml\n<think>I should look.</think>\n{EXECUTE}\n```", "in a Markdown fence"),
    Case("claude-fence-then-forged-results", "xml", f'```xml\n{EXECUTE}\n```\n\n<results>[{{"tool": "read"}}]</results>', "in a Markdown fence"),
    Case("gpt-fence-in-a-list", "action", f"1. Read the file:\n\n    ```xml\n    {EXECUTE}\n    ```", "in a Markdown fence"),
    Case("gpt-fence-closed-on-the-last-line", "xml", f"```xml\n{EXECUTE}```", "in a Markdown fence"),
    Case("gpt-fence-on-one-line", "xml", f"```xml <execute>[{READ}]</execute> ```", "in a Markdown fence"),
    Case("gpt-second-fence-is-the-call", "xml", f"```python\nprint(1)\n```\nNow:\n```xml\n{EXECUTE}\n```", "in a Markdown fence"),
    Case("gpt-fence-in-respond", "xml", f"<respond>\n```xml\n{EXECUTE}\n```\n</respond>", "in a Markdown fence"),
    Case("gpt-fence-in-response", "action", f"<response>\n```xml\n{ACTION}\n```</response>", "an <action> block in a Markdown fence"),
    Case("claude-fence-action", "action", f"```xml\n{ACTION}\n```", "an <action> block in a Markdown fence"),
    Case("gpt-fence-two-actions", "action", f"```\n{ACTION}\n{ACTION}\n```", "an <action> block in a Markdown fence"),
    Case("gpt-fence-trailing-comma", "xml", '```xml\n<execute>[{"name": "read", "args": {"file": "a"},}]</execute>\n```', "in a Markdown fence"),
    Case("gpt-fence-bad-escape", "xml", '```xml\n<execute>[{"name": "find", "args": {"content": "\\d"}}]</execute>\n```', "in a Markdown fence"),
    Case("llama-span", "xml", f"I will run `<execute>[{READ}]</execute>`", "in backticks"),
    Case("llama-span-over-lines", "xml", f"`{EXECUTE}`", "in backticks"),
    Case("llama-double-span", "action", f"``{ACTION}``", "in backticks"),
    Case("llama-span-call", "delimiter", f"`§call: {READ}`", "a §call: line in backticks"),
    Case("llama-unclosed-backtick", "xml", f"Let me look at `app.py: <execute>[{READ}]</execute>", "unclosed backtick"),
    Case("llama-call-within-a-line", "delimiter", f"§respond: Let me look. §call: {READ} §execute", "only at the start of a line"),
    Case("llama-thought-call-within-a-line", "delimiter", f"§think: I must look. §call: {READ} §execute", "Your thought contains a §call: line"),
    Case("tag-with-an-attribute", "xml", f'I look.\n<execute type="tool">[{READ}]</execute>', "<execute> has the attribute type"),
    # a. Another dialect's
    Case("claude-bare-action-in-xml", "xml", ACTION, "an <action> block, which"),
    Case("claude-bare-call-in-xml", "xml", f"Let me read it.\n{CALLS}", "a §call: line, which"),
    Case("claude-fenced-action-in-xml", "xml", f"```xml\n{ACTION}\n```", "an <action> block in a Markdown fence, which"),
    Case("claude-fenced-calls-in-xml", "xml", f"```\n§call: {READ}\n{CALLS}\n```", "a §call: line in a Markdown fence"),
    Case("claude-bare-execute-in-action", "action", EXECUTE, "an <execute> block, which"),
    Case("claude-execute-in-response", "action", f"<response>I'll look.\n{EXECUTE}</response>", "an <execute> block, which"),
    Case("claude-execute-with-thought-tag-in-content", "action", '<execute>[{"name": "write", "args": {"content": "<thought>a</thought>"}}]</execute>', "an <execute> block, which"),
    Case("claude-bare-execute-in-delimiter", "delimiter", f"§respond: I'll look.\n{EXECUTE}\n§end", "an <execute> block, which"),
    Case("claude-bare-action-in-delimiter", "delimiter", f"§think: hm\n§respond: {ACTION}", "an <action> block, which"),
    Case("claude-execute-without-array", "action", f"<execute>{READ}</execute>", "an <execute> block, which"),
    Case("claude-execute-cut", "action", '<execute>[{"name": "read", "args": {"fi', "an <execute> block, which"),
    # a. With a closing paragraph that announces what comes next
    Case("fence-then-look", "xml", f"I'll search.\n\n```xml\n{EXECUTE}\n```\n\nThen I'll read the functions around the matches.", "Your answer has an <execute> block in a Markdown fence"),
    Case("fence-then-answer", "xml", f"```xml\n{EXECUTE}\n```\nI'll read the result and then answer.", "in a Markdown fence"),
    Case("fence-then-wait", "action", f"```\n{ACTION}\n```\n\nLet me wait for the results.", "in a Markdown fence"),
    Case("fence-then-typographic-quote", "xml", f"```\n{EXECUTE}\n```\n\nNext, I’ll check the tests.", "in a Markdown fence"),
    Case("fence-left-open-then-wait", "xml", f"```xml\n{EXECUTE}\n\nNow I will run the tests.", "in a Markdown fence"),
    Case("fence-then-over-two-lines", "xml", f"```xml\n{EXECUTE}\n```\n\nNow I will look at the callers,\nand then at the tests.", "in a Markdown fence"),
    Case("fence-then-look-and-tell-the-user", "xml", f"```xml\n{EXECUTE}\n```\n\nI'll look at the results and tell you what I find.", "in a Markdown fence"),
    Case("fence-of-json-then-continue", "xml", f"```json\n{READ}\n```\n\nOnce I have the results, I can say more.", "a call as JSON in a Markdown fence"),
    Case("fence-in-response-then-report", "action", f"<response>```xml\n{ACTION}\n```\n\nI'll report back once I have the results.</response>", "in a Markdown fence"),
    Case("other-dialect-then-read", "xml", f"{ACTION}\n\nOnce the results are in, I'll summarise them.", "Your answer has an <action> block, which"),
    Case("other-dialect-in-delimiter-then-end", "delimiter", f"§respond: {EXECUTE}\n\nThen I'll read it.\n§end", "an <execute> block, which"),
    Case("native-then-waiting", "xml", f"{INVOKE}\n\nI'm waiting for the output.", "a <function_calls> block"),
    Case("native-then-let-me", "xml", f"{HERMES}\n*Let me first check what it returns.*", "a <tool_call> block"),
    Case("json-then-going-to", "xml", f"[{READ}]\n\nI'm going to read the file.", "a call as JSON"),
    Case("announced-before-and-after", "xml", f"I'll read it:\n\n```json\n{READ}\n```\n\nThen I'll answer once I have the result.", "a call as JSON in a Markdown fence"),
    Case("announced-around-without-blank-lines", "xml", f"I'll read it:\n```json\n{READ}\n```\nThen I'll check it.", "a call as JSON in a Markdown fence"),
    Case("fence-then-a-closer-look", "xml", f"```xml\n{EXECUTE}\n```\n\nThen I'll take a closer look at it.", "in a Markdown fence"),
    Case("native-then-when-they-arrive", "xml", f"{INVOKE}\n\nI'll summarise the results once they arrive.", "a <function_calls> block"),
    Case("fence-then-what-it-gives-me", "xml", f"```xml\n{EXECUTE}\n```\n\nThis starts the server on port 8765 and gives me its id.", "Your answer has an <execute> block in a Markdown fence"),
    Case("fence-then-waiting-for", "xml", f"```xml\n{EXECUTE}\n```\n\nWaiting for the results.", "Your answer has an <execute> block in a Markdown fence"),
    Case("fence-then-awaiting", "action", f"```xml\n{ACTION}\n```\n\nAwaiting its output…", "Your answer has an <action> block in a Markdown fence"),
    Case("call-then-what-it-will-show", "native", f"{HERMES}\nThis will show the test functions.", "Your answer has a <tool_call> block"),
    Case("call-then-once-you-have-the-result", "native", f"{INVOKE}\n\nLet me know once you have the result, then I will count the functions.", "a <function_calls> block"),
    Case("fence-then-count", "native", f"```json\n{READ}\n```\n\nI'll count them then.", "a call as JSON in a Markdown fence"),
    Case("announced-call-then-can-answer", "native", f"I'll search now.\n\n{HERMES}\n\nThen I can answer.", "a <tool_call> block"),
    Case("two-sentences-of-what-comes", "native", f"{HERMES}\n\nThis will list the functions. Then I'll count them.", "a <tool_call> block"),
    Case("fence-then-we-will-see", "xml", f"```xml\n{EXECUTE}\n```\nThen we'll know more.", "an <execute> block in a Markdown fence"),
    Case("call-then-please-provide", "native", f"{HERMES}\n\nPlease provide the output. I'll count the functions then.", "a <tool_call> block"),
    Case("call-then-the-search-should-find", "native", f"Let me look for it.\n{HERMES}\nThe search should find the definition.", "a <tool_call> block"),
    Case("call-then-once-it-completes", "native", f"{HERMES}\n\nOnce this completes, I'll count them.", "a <tool_call> block"),
    Case("call-then-please-run-it", "native", f"{HERMES}\n\nPlease run this and share the output.", "a <tool_call> block"),
    Case("call-then-I-wait", "native", f"{HERMES}\n\nNow I wait for the result.", "a <tool_call> block"),
    Case("actions-and-a-response-in-xml", "xml", f"{ACTION}\n<response>I read it.</response>", "an <action> block, which"),
    Case("calls-and-a-respond-in-xml", "xml", f"{CALLS}\n§respond: I read it.\n§end", "a §call: line, which"),
    Case("call-with-its-name-before-the-object", "xml", 'Look.\n§call: read {"file": "app.py"}\n§execute', "a §call: line, which"),
    Case("boundary-of-another-dialect", "xml", "§call: read the file\n§execute", "ends with §execute, which"),
    # b. In a thought
    Case("qwen-think-never-closed", "xml", f"Sure.<think>I need the file.\n{EXECUTE}", "Your thought contains an <execute> block"),
    Case("deepseek-think-only-with-block", "xml", f"<think>I need the file.\n{EXECUTE}</think>", "Your thought contains an <execute> block"),
    Case("qwen-thought-with-action", "action", f"<thought>I need the file.\n{ACTION}\nNow I wait.", "Your thought contains an <action> block"),
    Case("qwen-think-with-native-call", "xml", f"<think>I need the file.\n{HERMES}", "Your thought contains a <tool_call> block"),
    Case("gpt-think-with-json", "xml", f"Ok.<think>Call the tool.\n{READ}", "Your thought contains a call as JSON"),
    # c. Native syntaxes
    Case("claude-function-calls", "xml", f"I'll read it.\n\n{INVOKE}", "a <function_calls> block"),
    Case("claude-antml", "xml", ANTML, "a <function_calls> block"),
    Case("claude-antml-lone-invoke", "xml", ANTML.split("\n", 1)[1], "an <invoke> block"),
    Case("claude-lone-invoke", "action", '<invoke name="shell">\n<parameter name="command">ls</parameter>\n</invoke>', "an <invoke> block"),
    Case("claude-two-invokes", "delimiter", f"§respond: Both.\n{INVOKE}\n{INVOKE}", "a <function_calls> block"),
    Case("claude-invoke-without-parameters", "xml", '<function_calls>\n<invoke name="list">\n</invoke>\n</function_calls>', "a <function_calls> block"),
    Case("claude-invoke-cut", "xml", '<function_calls>\n<invoke name="write">\n<parameter name="content">x = 1\ny', "a <function_calls> block"),
    Case("claude-function-results-after", "xml", f"{INVOKE}\n<function_results>\nprint(1)\n</function_results>", "a <function_calls> block"),
    Case("claude-function-results-cut", "xml", f"{INVOKE}\n<function_results>\nprint(1)\n", "a <function_calls> block"),
    Case("claude-forged-results-after", "xml", f"{INVOKE}\n<results>[]</results>", "a <function_calls> block"),
    Case("claude-writes-this-page", "delimiter", WRITE_PAGE, "a <function_calls> block"),
    Case("claude-writes-a-thought", "xml", WRITE_PAGE.replace(PROTOCOL_PAGE, "First <think>a</think> then"), "a <function_calls> block"),
    Case("claude-writes-an-end", "xml", WRITE_PAGE.replace(PROTOCOL_PAGE, "It ends with <end> as ever"), "a <function_calls> block"),
    Case("claude-then-a-thought", "xml", f"{INVOKE}<think>Now I wait.</think>", "a <function_calls> block"),
    Case("claude-fenced-known-tool", "xml", f"```xml\n{INVOKE}\n```", "a <function_calls> block in a Markdown fence"),
    Case("minimax", "xml", f"<minimax:tool_call>\n{INVOKE.split(chr(10), 1)[1].rsplit(chr(10), 1)[0]}\n</minimax:tool_call>", "a <tool_call> block"),
    Case("deepseek-3.2", "xml", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="file" string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>', "a <function_calls> block"),
    Case("deepseek-4", "xml", '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="file" string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>', "a <function_calls> block"),
    Case("hermes", "xml", HERMES, "a <tool_call> block"),
    Case("hermes-parallel", "xml", f"Both:\n{HERMES}\n{HERMES}", "a <tool_call> block"),
    Case("hermes-never-closed", "action", HERMES.removesuffix("</tool_call>"), "a <tool_call> block"),
    Case("hermes-brace-too-many", "xml", HERMES.replace("}}", "}}}"), "a <tool_call> block"),
    Case("hermes-single-quotes", "xml", "<tool_call>\n{'name': 'read', 'arguments': {'file': 'a'}}\n</tool_call>", "a <tool_call> block"),
    Case("hermes-unescaped-quotes", "xml", '<tool_call>{"name": "shell", "arguments": {"command": "echo "hi""}}</tool_call>', "a <tool_call> block"),
    Case("hermes-closing-marker-in-a-string", "xml", '<tool_call>{"name": "write", "arguments": {"content": "a </tool_call> b"}}</tool_call>', "a <tool_call> block"),
    Case("hermes-response-after", "delimiter", f"{HERMES}\n<tool_response>\nprint(1)\n</tool_response>", "a <tool_call> block"),
    Case("hermes-im-end", "xml", f"{HERMES}<|im_end|>", "a <tool_call> block"),
    Case("hermes-and-our-end", "action", f"{HERMES}\n<end>", "a <tool_call> block"),
    Case("hermes-after-think", "xml", f"<think>Look.</think>\n\n{HERMES}", "a <tool_call> block"),
    Case("hermes-after-prose-with-tag-in-backticks", "xml", f"I use `<tool_call>` here.\n{HERMES}", "a <tool_call> block"),
    Case("qwen-coder", "xml", QWEN_CODER, "a <tool_call> block"),
    Case("qwen-coder-without-opening", "xml", QWEN_CODER.removeprefix("<tool_call>\n"), "a <function=…> block"),
    Case("qwen-coder-writes-this-page", "delimiter", QWEN_CODER.replace("app.py", PROTOCOL_PAGE), "a <tool_call> block"),
    Case("glm", "xml", "<tool_call>read\n<arg_key>file</arg_key>\n<arg_value>app.py</arg_value>\n</tool_call>", "a <tool_call> block"),
    Case("llama-function", "xml", '<function=read>{"file": "app.py"}</function>', "a <function=…> block"),
    Case("llama-function-without-bracket", "xml", '<function=read{"file": "app.py"}</function>', "a <function=…> block"),
    Case("llama-python-tag", "xml", '<|python_tag|>{"name": "read", "parameters": {"file": "app.py"}}<|eom_id|>', "a <|python_tag|> call"),
    Case("llama-python-tag-code", "xml", '<|python_tag|>read.call(file="app.py")', "a <|python_tag|> call"),
    Case("llama-json", "xml", '{"type": "function", "name": "read", "parameters": {"file": "app.py"}}', "a call as JSON"),
    Case("llama-json-parallel", "xml", '{"name": "read", "parameters": {"file": "a"}}; {"name": "read", "parameters": {"file": "b"}}', "calls as JSON"),
    Case("llama-4-python", "xml", '[read(file="app.py"), list()]', "a call as Python"),
    Case("mistral-array", "xml", '[TOOL_CALLS][{"name": "read", "arguments": {"file": "app.py"}}]', "a [TOOL_CALLS] call"),
    Case("mistral-name-and-args", "xml", '[TOOL_CALLS]read[ARGS]{"file": "app.py"}', "a [TOOL_CALLS] call"),
    Case("mistral-parallel", "action", '[TOOL_CALLS]read{"file": "a"}[TOOL_CALLS]read{"file": "b"}', "a [TOOL_CALLS] call"),
    Case("lm-studio", "xml", '[TOOL_REQUEST]{"name": "read", "arguments": {"file": "a"}}[END_TOOL_REQUEST]', "a [TOOL_REQUEST] block"),
    Case("kimi", "xml", f"Reading. {KIMI}", "a <|tool_call_begin|> block"),
    Case("kimi-cut", "xml", KIMI.split('py"')[0], "a <|tool_call_begin|> block"),
    Case("deepseek-3", "xml", DEEPSEEK, "a <｜tool▁call▁begin｜> block"),
    Case("deepseek-3.1", "xml", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"file": "a"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>', "a <｜tool▁call▁begin｜> block"),
    Case("gemma-3", "xml", "Reading.\n```tool_code\nprint(read(file='app.py'))\n```", "a tool_code block in a Markdown fence"),
    Case("gemini-tool-code-tag", "xml", "<tool_code>\nprint(default_api.read(file='app.py'))\n</tool_code>", "a <tool_code> block"),
    Case("gemini-default-api", "xml", "I'll read it.\nprint(default_api.read(file='app.py'))", "a default_api call"),
    Case("function-gemma", "xml", "<start_function_call>call:read{file:<escape>app.py<escape>}<end_function_call>", "a <start_function_call> block"),
    Case("gemma-4", "xml", '<|tool_call>call:read{file:<|"|>app.py<|"|>}<tool_call|>', "a <start_function_call> block"),
    Case("gpt-oss", "xml", HARMONY, "a to=functions.read call"),
    Case("gpt-oss-start", "xml", '<|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"file": "a"}', "a to=functions.read call"),
    Case("gpt-oss-without-tokens", "xml", 'I will look. commentary to=functions.read json{"file": "app.py"}', "a to=functions.read call"),
    Case("granite", "xml", '<|tool_call|>[{"name": "read", "arguments": {"file": "a"}}]', "a <|tool_call|> block"),
    Case("nemotron", "xml", '<TOOLCALL>[{"name": "read", "arguments": {"file": "a"}}]</TOOLCALL>', "a <TOOLCALL> block"),
    Case("xlam-function-call", "xml", '<function_call>{"name": "read", "arguments": {"file": "a"}}</function_call>', "a <function_call> block"),
    Case("cline-known-tool", "xml", "<file_read>\n<path>app.py</path>\n</file_read>", "a <file_read> block"),
    Case("cline-use-tool", "xml", "<use_tool>\n<name>read</name>\n<args>{}</args>\n</use_tool>", "a <use_tool> block"),
    Case("roo-mcp", "xml", "<use_mcp_tool>\n<server_name>a</server_name>\n<tool_name>b</tool_name>\n</use_mcp_tool>", "a <use_mcp_tool> block"),
    Case("bolt-tag-with-text", "xml", "<bash>ls -la</bash>", "a <bash> block"),
    Case("react", "xml", 'Action: read\nAction Input: {"file": "app.py"}\nObservation: print(1)', "an Action"),
    Case("python-line", "xml", 'read(file="README")', "a Python call, which"),
    Case("python-print", "delimiter", "§respond: I look.\n\nprint(read(file='README'))", "a Python call, which"),
    Case("python-lines", "action", 'I look.\n\nread(file="README")\nfind(content="x", context=2)', "a Python call, which"),
    # c. JSON
    Case("gpt-tool-calls", "xml", OPENAI, "a call as JSON"),
    Case("gpt-message", "xml", OPENAI.replace("{", '{"role": "assistant", "content": null, ', 1), "a call as JSON"),
    Case("gpt-tool-uses", "xml", '{"tool_uses": [{"recipient_name": "functions.read", "parameters": {"file": "a"}}]}', "a call as JSON"),
    Case("gpt-name-and-arguments", "delimiter", '{"name": "read", "arguments": {"file": "app.py"}}', "a call as JSON"),
    Case("gpt-arguments-as-text", "xml", '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}', "a call as JSON"),
    Case("gpt-unknown-tool-with-input", "xml", 'Calling:\n{"type": "tool_use", "id": "t", "name": "str_replace_based_edit_tool", "input": {"path": "a"}}', "a call as JSON"),
    Case("gpt-array-without-block", "xml", f"I'll read both.\n[\n  {READ},\n  {READ}\n]", "calls as JSON"),
    Case("gpt-array-of-known-names", "xml", '[{"name": "list"}]', "a call as JSON"),
    Case("gpt-array-without-opening-marker", "xml", f"[{READ}]\n</execute>", "a call as JSON"),
    Case("gpt-flat-arguments", "xml", '{"name": "read", "file": "app.py"}', "a call as JSON"),
    Case("gpt-json-fence", "xml", f"```json\n[{READ}]\n```", "a call as JSON in a Markdown fence"),
    Case("gpt-json-fence-tool-calls", "action", f"Reading.\n```json\n{OPENAI}\n```", "a call as JSON in a Markdown fence"),
    Case("gpt-json-fence-left-open", "xml", f"```json\n[{READ}]", "a call as JSON in a Markdown fence"),
    Case("gpt-json-cut", "xml", '{"name": "write", "args": {"file": "a.py", "content": "x = 1\\ny', "a call as JSON"),
    Case("gpt-json-bad-escape", "xml", '[{"name": "find", "args": {"content": "\\d+"}}]', "a call as JSON"),
    Case("gemini-function-call", "xml", '{"functionCall": {"name": "read", "args": {"file": "app.py"}}}', "a call as JSON"),
    Case("command-r", "xml", 'Action: ```json\n[{"tool_name": "read", "parameters": {"file": "a"}}]\n```', "a call as JSON in a Markdown fence"),
    # d. Nothing else
    Case("deepseek-only-a-thought", "xml", "<think>I should read the file.</think>", "only a thought"),
    Case("qwen-thought-never-closed", "action", "<thought>I should read the file", "only a thought"),
    Case("qwen-two-thoughts", "delimiter", "§think: a\n§think: b\n§end", "only a thought"),
    Case("lone-end-of-a-thought", "xml", "I should read the file.\n</think>", "nothing follows </think>"),
    Case("lone-end-of-a-thought-in-native", "native", "I should read the file.\n</think>\n", "nothing follows </think>"),
    Case("thinking-tags", "xml", "<thinking>I should read the file.</thinking>", "nothing follows </thinking>"),
    Case("thought-of-another-dialect", "xml", "<thought>I should read the file.</thought>", "nothing follows </thought>"),
    Case("thought-tags-in-prose", "xml", "Thoughts stand between <think> and </think>; the answer is 42.", "mentions the tags of a thought"),
    Case("thought-tags-with-an-ellipsis", "action", "I use <thought>…</thought> for that.", "mentions the tags of a thought"),
    Case("gemini-nothing", "xml", "", "You wrote nothing"),
]  # fmt: skip

NOT_SLIPS = [
    Case("plain-answer", "xml", "It is a language.", ""),
    Case("thought-and-answer", "xml", "<think>Use <tool_call>?</think>It is a language.", ""),
    Case("thought-with-block-then-answer", "xml", f"<think>{EXECUTE}</think>It is done.", ""),
    Case("answer-then-thought", "xml", "It is done.<think>I could have read it.</think>", ""),
    Case("fence-with-text-after", "xml", f"A call:\n```xml\n{EXECUTE}\n```\nAnd that is how it looks.", ""),
    Case("fence-with-text-after-in-action", "action", f"```xml\n{ACTION}\n```\n\nThat is all.", ""),
    Case("two-fences-with-text-after", "xml", f"```xml\n{EXECUTE}\n```\n```\n{ACTION}\n```\nSo they differ.", ""),
    Case("fence-then-fence-of-code", "xml", f"```xml\n{EXECUTE}\n```\nand\n```python\nprint(1)\n```", ""),
    Case("span-with-text-after", "xml", f"Write `<execute>[{READ}]</execute>` to run it.", ""),
    Case("span-with-a-full-stop-after", "xml", f"Write `<execute>[{READ}]</execute>`.", ""),
    Case("closing-tag-in-backticks", "xml", "The block ends with `</execute>`", ""),
    Case("opening-tag-in-backticks", "xml", "The block begins with `<execute>`", ""),
    Case("both-tags-in-backticks", "xml", "A call stands between `<execute>` and `</execute>`", ""),
    Case("ellipsis-in-backticks", "xml", "The form is `<execute>[…]</execute>`", ""),
    Case("ellipsis-in-a-fence", "xml", '```xml\n<execute>[{"name": "tool", "args": {...}}]</execute>\n```', ""),
    Case("fence-of-one-tag", "xml", "```\n</execute>\n```", ""),
    Case("native-tag-in-backticks", "xml", "Hermes ends its calls with `</tool_call>`", ""),
    Case("mistral-tag-in-backticks", "xml", "Mistral begins its calls with `[TOOL_CALLS]`", ""),
    Case("bare-native-with-text-after", "xml", f"Claude writes\n{INVOKE}\nfor a call.", ""),
    Case("bare-hermes-with-text-after", "xml", f"{HERMES}\nis how Hermes calls a tool.", ""),
    Case("results-that-are-written-about", "xml", f"```\n{HERMES}\n```\nThe answer is <tool_response>a</tool_response> then.", ""),
    Case("bare-execute-with-text-after", "action", f"<response>{EXECUTE} runs a batch.</response>", ""),
    Case("bare-call-line-with-text-after", "xml", f"§call: {READ}\nis the older form.", ""),
    Case("fence-of-an-unknown-native-tool", "xml", "Hermes writes:\n```xml\n" + HERMES.replace("read", "get_weather") + "\n```", ""),
    Case("fence-of-an-unknown-json-tool", "xml", 'OpenAI sends:\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```', ""),
    Case("python-file", "xml", "```python\nMARK = \"<execute>\"\nprint(f'<execute>[{x}]</execute>')\n```", ""),
    Case("python-test", "xml", f"```python\ndef test_call():\n    text = '''{EXECUTE}'''\n```", ""),
    Case("python-file-ends-in-block", "xml", f"```python\nTEXT = '''\n{EXECUTE}'''\n```", ""),
    Case("python-file-with-comment-first", "xml", f"```python\n# <execute> runs a batch\nTEXT = '{READ}'\n```", ""),
    Case("diff", "xml", f"```diff\n-{READ}\n+{EXECUTE}\n```", ""),
    Case("shell-session", "xml", f"```sh\n$ cat call.txt\n{EXECUTE}\n```", ""),
    Case("markdown-in-markdown", "xml", f"````markdown\n# Calls\n```xml\n{EXECUTE}\n```\n````", ""),
    Case("block-followed-by-code-in-the-fence", "xml", f"```\n{EXECUTE}\nprint(1)\n```", ""),
    Case("json-schema", "xml", '```json\n{"$schema": "x", "type": "object", "properties": {"name": {"type": "string"}}}\n```', ""),
    Case("tool-definition", "xml", '{"name": "read", "description": "Reads", "parameters": {"type": "object", "properties": {}}}', ""),
    Case("tool-definition-in-a-fence", "xml", '```json\n[{"name": "read", "input_schema": {"type": "object", "properties": {}}}]\n```', ""),
    Case("package-json", "xml", 'It is now:\n```json\n{"name": "app", "version": "1.0.0", "scripts": {"test": "jest"}}\n```', ""),
    Case("package-json-of-a-tools-name", "xml", '```json\n{"name": "search", "version": "1.0.0", "dependencies": {}}\n```', ""),
    Case("package-json-bare", "xml", '{"name": "app", "version": "1.0.0"}', ""),
    Case("people", "xml", '[{"name": "Ann", "email": "ann@example.org"}, {"name": "Bob", "email": "b@example.org"}]', ""),
    Case("people-in-a-fence", "xml", '```json\n[{"name": "Ann", "age": 3}]\n```', ""),
    Case("workflow", "xml", "```yaml\nname: CI\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n```", ""),
    Case("workflow-as-json", "xml", '{"name": "CI", "on": "push", "jobs": {"test": {"runs-on": "x"}}}', ""),
    Case("openapi", "xml", '```json\n{"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"name": "search", "in": "query"}]}}}}\n```', ""),
    Case("api-parameters", "xml", '[{"name": "limit", "type": "integer", "required": true}]', ""),
    Case("configuration", "xml", '{"tools": ["read", "write"], "model": "x"}', ""),
    Case("no-tool-calls", "xml", '{"tool_calls": []}', ""),
    Case("empty-array", "xml", "[]", ""),
    Case("empty-array-in-a-fence", "xml", "```json\n[]\n```", ""),
    Case("array-with-a-sentence-after", "xml", f"[{READ}] is the payload of a batch.", ""),
    Case("array-of-numbers", "xml", "The result is [1, 2, 3]", ""),
    Case("prose-about-tool-calls", "xml", 'The response has "tool_calls" and each has "arguments".', ""),
    Case("prose-about-invoke", "xml", "Claude wraps <invoke> in <function_calls> as ever.", ""),
    Case("markdown-link-at-the-end", "xml", "See [read(2)](https://example.org)", ""),
    Case("footnote", "xml", "It is so [1].\n\n[1]: https://example.org", ""),
    Case("html", "xml", "```html\n<list><item>a</item></list>\n```", ""),
    Case("html-bare", "xml", "<ul><li>a</li></ul>", ""),
    Case("cline-of-an-unknown-tool", "xml", "<read_file>\n<path>app.py</path>\n</read_file>", ""),
    Case("android-manifest", "xml", '```xml\n<action android:name="android.intent.action.MAIN" />\n```', ""),
    Case("rust-generic", "xml", "It returns `Option<Action>`", ""),
    Case("css", "xml", '```css\na { content: "x" }\n```', ""),
    Case("javascript", "xml", '```js\nconst a = {"name": "read", "args": {}}\n```', ""),
    Case("tool-results-quoted", "xml", 'The engine answered:\n```json\n[{"tool": "read", "status": "success", "content": "a"}]\n```', ""),
    Case("harmony-in-prose", "xml", "gpt-oss writes to=functions.read in its header.", ""),
    Case("python-tag-in-prose", "xml", "Llama begins with <|python_tag|> there.", ""),
    Case("delimiters-in-prose", "delimiter", "§respond: Write §call: and then §execute.\n§end", ""),
    Case("placeholder-in-prose", "xml", 'A call is <tool_call>{"name": …}</tool_call>', ""),
    Case("react-in-prose", "xml", "Action: none\nI am done.", ""),
    Case("tool-names", "xml", '{"tool_calls": ["read", "write"]}', ""),
    Case("package-json-cut", "xml", '{"name": "search", "version": "1.0.0", ', ""),
    Case("placeholder-as-json", "xml", 'A call is {"name": "read", "args": {…}}', ""),
    Case("thought-about-a-tag-then-html", "xml", '<think>Claude has <invoke name="a"><parameter name="b"> there.</think>It is <b>so</b>', ""),
    Case("then-an-offer", "xml", f"```xml\n{EXECUTE}\n```\n\nI'll gladly explain more.", ""),
    Case("then-an-explanation", "xml", f"```xml\n{EXECUTE}\n```\n\nThis reads the file, and then I'll see its lines.", ""),
    Case("then-let-me-know", "xml", f"```xml\n{EXECUTE}\n```\n\nLet me know what to do next.", ""),
    Case("then-let-me-explain", "xml", f"{INVOKE}\n\nLet me explain: it reads the file.", ""),
    Case("then-if-you-like", "xml", f"```xml\n{EXECUTE}\n```\n\nI'll run it if you like.", ""),
    Case("then-a-question", "xml", f"```xml\n{EXECUTE}\n```\n\nNow I will run it. Is that all right?", ""),
    Case("then-the-user's-word", "xml", f"{HERMES}\n\nI'll wait for your approval.", ""),
    Case("then-calls-like-this", "xml", f"```xml\n{EXECUTE}\n```\n\nI will write calls like this one.", ""),
    Case("then-what-a-reader-does", "xml", f"```xml\n{EXECUTE}\n```\n\nThen you read the results.", ""),
    Case("then-the-engine", "xml", f"```xml\n{EXECUTE}\n```\n\nNext, the engine runs it. Once it has the results, it sends them.", ""),
    Case("then-two-paragraphs", "xml", f"```xml\n{EXECUTE}\n```\n\nThen I'll read the result.\n\nThat is the protocol.", ""),
    Case("then-a-long-paragraph", "xml", f"```xml\n{EXECUTE}\n```\n\nThen I'll read the result{', and the next' * 20}.", ""),
    Case("then-announced-before-the-fence", "xml", f"Then I'll read it:\n\n```xml\n{EXECUTE}\n```\n\nThat is a call.", ""),
    Case("announced-without-a-call", "xml", "```python\nprint(1)\n```\n\nThen I'll run the tests.", ""),
    Case("span-then-announced", "xml", f"`{EXECUTE}`\n\nThen I'll read the result.", ""),
    Case("unknown-tool-then-announced", "xml", '```json\n{"name": "deploy", "args": {"to": "a"}}\n```\n\nThen I will check it.', ""),
    Case("announced-within-the-call", "xml", f"```xml\n{INVOKE.replace('app.py', 'a' + chr(10) + 'Let me look.' + chr(10))}\n```\nThat is it.", ""),
    Case("then-make-sure", "xml", f"```xml\n{EXECUTE}\n```\n\nI'll make sure that every call has this form.", ""),
    Case("boundary-in-backticks", "xml", "A batch runs at\n`§execute`", ""),
    Case("closing-thought-tag-then-an-answer", "xml", "I should look. </think> It is 42.", ""),
    Case("closing-thought-tag-in-backticks", "xml", "A thought ends with `</think>`", ""),
    Case("thought-between-two-texts", "xml", "Hm.<think>and so on it goes</think>It is 42.", ""),
    Case("python-line-with-text-after", "xml", 'read(file="README")\n\nThat is how (in Python) it looks.', ""),
    Case("python-line-of-an-unknown-function", "xml", 'load(file="README")', ""),
    Case("python-line-in-a-fence", "xml", '```python\nread(file="README")\n```', ""),
    Case("python-line-within-a-sentence", "xml", 'Use read(file="README")', ""),
    Case("fence-then-what-it-gives-you", "xml", f"```xml\n{EXECUTE}\n```\n\nThis reads the file and gives you its lines.", ""),
    Case("fence-then-what-it-does", "xml", f"```json\n[{READ}]\n```\nThis reads the file.", ""),
    Case("fence-then-a-wish", "xml", f"```xml\n{EXECUTE}\n```\n\nLet me know if this works.", ""),
    Case("then-what-it-shows", "native", f"{HERMES}\n\nThis shows the test functions.", ""),
    Case("then-what-it-returns", "native", f"{INVOKE}\n\nIt returns the lines with their numbers.", ""),
    Case("then-what-the-block-does", "native", f"{HERMES}\n\nThe block calls read with one argument.", ""),
    Case("then-what-will-happen-and-why", "native", f"{HERMES}\n\nThis will read the file. The arguments are one object.", ""),
    Case("then-what-it-will-show-you", "native", f"{HERMES}\n\nThis will show you the test functions.", ""),
    Case("an-example-and-what-it-will-do", "native", f"For example:\n\n{HERMES}\n\nThis will read the file.", ""),
    Case("a-form-and-what-it-will-do", "native", f"A call looks like this:\n\n{HERMES}\n\nThis will return its lines.", ""),
    Case("a-syntax-and-then-I-can", "native", f"The syntax of Hermes is\n\n```xml\n{HERMES}\n```\n\nThen I can go on.", ""),
    Case("what-qwen-writes-and-what-follows", "native", f"Qwen writes\n{HERMES}\nIt will return the lines.", ""),
    Case("to-read-a-file", "native", f"To read a file:\n\n```json\n{READ}\n```\n\nThis will return its lines.", ""),
    Case("you-can-read-a-file", "native", f"You can read it with\n\n{HERMES}\n\nThis should print the file.", ""),
    Case("the-call-that-failed", "native", f"The call was\n\n{HERMES}\n\nIt will find nothing: the file is empty.", ""),
    Case("a-long-introduction", "native", f"{'The parser reads tags. ' * 20}\n\n{HERMES}\n\nThis will read the file.", ""),
    Case("then-three-sentences", "native", f"{HERMES}\n\nThis will read it. Then I'll see it. Then I can answer.", ""),
    Case("then-I-will-explain", "native", f"{HERMES}\n\nI will explain each part.", ""),
    Case("then-I-can-explain", "native", f"{HERMES}\n\nI can explain more if you want.", ""),
    Case("then-I-can-not", "native", f"{HERMES}\n\nI will not run it.", ""),
    Case("then-let-me-know-once-you-are-ready", "native", f"{HERMES}\n\nLet me know once you are ready.", ""),
    Case("then-tell-me-when-you-have-time", "native", f"{HERMES}\n\nTell me when you have time.", ""),
    Case("unknown-tool-then-what-it-will-show", "native", f"{HERMES.replace('read', 'get_weather')}\n\nThis will show the weather.", ""),
    Case("code-call", "xml", "Use\n\n    read(file='app.py')", ""),
]  # fmt: skip


@cases("case", SLIPS)
def test_slip(case: Case) -> None:
    slip = slip_of(case.answer, case.dialect)
    assert slip is not None
    assert case.cause in slip.problem
    assert slip.cure


def test_the_cure_for_an_example_is_one_closing_sentence() -> None:
    slip = slip_of(f"```xml\n{EXECUTE}\n```")
    assert slip is not None
    assert slip.cure.endswith("If it was an example, your answer is complete: send one closing sentence.")


@cases("case", NOT_SLIPS)
def test_no_slip(case: Case) -> None:
    assert slip_of(case.answer, case.dialect) is None


@cases("dialect", DIALECTS)
@cases("native", [INVOKE, HERMES, QWEN_CODER, OPENAI, DEEPSEEK, KIMI, HARMONY, f"[{READ}]"])
def test_native_syntax_in_every_dialect(native: str, dialect: Dialect) -> None:
    for before in ("", "I'll read it.\n\n", "Look: ", "```sh\nls\n```\n"):
        assert slip_of(before + native, dialect) is not None
        assert slip_of(f"{before}{native}\n\nThat is how it looks.", dialect) is None


@cases("case", NOT_SLIPS)
def test_a_call_after_anything_is_found(case: Case) -> None:
    """What came before, documentation and open fences included, hides no call."""
    answer = f"{case.answer.removesuffix('§end')}\n\n{HERMES}"
    assert slip_of(answer, case.dialect) is not None


def test_the_cure_for_a_mentioned_closing_tag_is_backticks() -> None:
    slip = slip_of("The tags are <thought> and </thought>")
    assert slip is not None
    assert slip.cure.endswith("to mention the tag, put it in backticks.")


def test_without_tools_names_prove_nothing() -> None:
    assert find_slip(units_of('[{"name": "read"}]', "xml"), "xml") is None
    assert find_slip(units_of(f"```json\n[{READ}]\n```", "xml"), "xml") is None
    assert find_slip(units_of(f"[{READ}]", "xml"), "xml") is not None


def test_cures_name_the_form_of_the_dialect() -> None:
    forms: dict[Dialect, str] = {"xml": "<execute>", "delimiter": "§call:", "action": "<action>"}
    for dialect, form in forms.items():
        slip = slip_of(HERMES, dialect)
        assert slip is not None
        assert form in slip.cure


# Whatever is written

PIECES = (
    *(EXECUTE, ACTION, CALLS, READ, INVOKE, HERMES, QWEN_CODER, OPENAI, DEEPSEEK, KIMI, HARMONY),
    *("<execute>[", "</execute>", "<tool_call>", "</tool_call>", "<think>", "</think>", "<function_calls>"),
    *("[TOOL_CALLS]", "§call: {", "to=functions.read", "<function_results>", "</function_results>", "<read>"),
    *(
        "`",
        "``",
        "```",
        "~~~",
        "```json\n",
        "\n",
        " ",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ",",
        "a",
        "…",
        "é",
        "\r",
    ),
)
written = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join)


def unit(kind: str, content: str) -> Unit:
    if kind == "think":
        return {"type": "think", "timestamp": 0.0, "id": "u", "content": content}
    return {"type": "respond", "timestamp": 0.0, "id": "u", "content": content}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(("think", "respond")), written), max_size=4), st.sampled_from(DIALECTS)
)
def test_never_raises(parts: list[tuple[str, str]], dialect: Dialect) -> None:
    units = [unit(kind, content) for kind, content in parts]
    slip = find_slip(units, dialect, TOOLS)
    if slip is None:
        assert any(unit["type"] == "respond" for unit in units)
    else:
        assert slip.problem.endswith(".")
        assert slip.cure.endswith(".")


COMPLETE = (
    *(EXECUTE, ACTION, CALLS, READ, INVOKE, ANTML, HERMES, QWEN_CODER, OPENAI, DEEPSEEK, KIMI, HARMONY),
    *(
        f"```xml\n{EXECUTE}\n```",
        f"~~~\n{HERMES}\n~~~",
        f"`{READ}`",
        f"`<execute>[{READ}]</execute>`",
        "A sentence.",
    ),
)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(COMPLETE), max_size=5), st.sampled_from(DIALECTS))
def test_a_sentence_after_them_makes_examples(parts: list[str], dialect: Dialect) -> None:
    answer = "\n".join(parts)
    assert find_slip([unit("respond", f"{answer}\n\nThat is how it looks.")], dialect, TOOLS) is None


@pytest.mark.exhaustive
@settings(max_examples=50)
@given(st.text(alphabet=st.characters(exclude_characters="<`~{["), max_size=200))
def test_text_without_syntax_is_an_answer(text: str) -> None:
    assert find_slip([unit("respond", f"{text}.")], "action", TOOLS) is None


@settings(max_examples=25)
@given(st.text(max_size=80), st.sampled_from(("```", "~~~~")))
def test_a_block_in_a_fence_whatever_it_writes(content: str, fence: str) -> None:
    call = json.dumps([{"name": "write", "args": {"file": "a", "content": content}}])
    answer = f"I'll write it.\n\n{fence}xml\n<execute>\n{call}\n</execute>\n{fence}"
    assert find_slip([unit("respond", answer)], "xml", TOOLS) is not None


# Size

LONG = "x = [1, 2]  # <a>\\n" * 10_000


@pytest.mark.exhaustive
@cases(
    "answer",
    [
        f'```xml\n<execute>\n[{{"name": "write", "args": {{"file": "a", "content": "{LONG}"}}}}]\n</execute>\n```',
        f'```json\n[{{"name": "write", "args": {{"file": "a", "content": "{LONG}"}}}}]\n```',
        f'{{"name": "write", "arguments": {{"file": "a", "content": "{LONG}"}}}}',
        f'<tool_call>{{"name": "write", "arguments": {{"file": "a", "content": "{LONG}"}}}}</tool_call>',
        WRITE_PAGE.replace(PROTOCOL_PAGE, LONG),
        f"{LONG}\n{HERMES}",
    ],
)
def test_a_long_call_is_found(answer: str) -> None:
    assert len(answer) > 180_000
    assert find_slip([unit("respond", answer)], "delimiter", TOOLS) is not None


def operations(work: Callable[[], object]) -> int:
    """How many calls of functions `work` takes, those of built-in ones included."""
    count = 0

    def profile(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


HOSTILE = (
    *(
        "`",
        "``` ",
        "```\n",
        "~~~\n",
        "`a",
        "<",
        "< ",
        "[",
        "{",
        '["',
        '{"',
        "[{",
        '{"a":',
        "[ ",
        "<execute>[",
    ),
    *('<execute>[{"a":', '<execute>{"', "<action ", "<action>{", "§call: {", '§call: {"', "\n§call:{}"),
    *(
        '<invoke name="a">',
        '<invoke name="a"><parameter ',
        "<function_calls>",
        "</function_calls>",
        "<a:b:c:",
    ),
    *(
        "<tool_call>",
        "<tool_call>{",
        '<tool_call>{"',
        HERMES,
        READ,
        f"{READ} a ",
        f"{HERMES}a",
        f"`{HERMES}`",
    ),
    *("<function=a>", "<function=a>{", "<read>", "<read> </read>", "[TOOL_CALLS]", '[TOOL_CALLS][{"a":"'),
    *(
        "to=functions.a",
        "to=functions.a {",
        "<|python_tag|>{",
        "<|channel|>",
        "[read(",
        "\n[read(a=",
        "\nAction:",
    ),
    *(
        "</results>",
        "<results>",
        "<results></results>",
        "<end>",
        "§end ",
        "\n",
        " ",
        "\r",
        "\n# a",
        "<!--",
        "<think>",
    ),
    *(
        "default_api.a(",
        "\nprint(default_api.a(",
        '"',
        "\\",
        '","',
        '["<tool_call>[',
        '["`<tool_call>["',
        "a",
    ),
)


@pytest.mark.exhaustive
@cases(
    ("piece", "end"),
    [
        *((piece, "") for piece in HOSTILE),
        *zip(HOSTILE, cycle(["```", "</tool_call>"]), strict=False),
    ],
)
def test_work_grows_with_the_length(piece: str, end: str) -> None:
    def work(size: int) -> Callable[[], object]:
        answer = piece * (size // len(piece) + 1) + end
        units = [unit("respond", "a"), unit("respond", answer)]
        thought = [unit("respond", "a"), unit("think", answer)]
        return lambda: (find_slip(units, "xml", TOOLS), find_slip(thought, "xml", TOOLS))

    size = max(250, 8 * len(piece))
    few, many = operations(work(size)), operations(work(4 * size))
    assert many <= 6 * few + 500


REPEATED = (
    *(
        " ",
        "\n",
        "\t",
        "\r",
        "a",
        "`",
        "~",
        "<",
        "<a:b:c:",
        "<action ",
        "<!--",
        "#",
        "\n#",
        "[ ",
        "{ ",
        "[a",
        "a.",
    ),
    *(
        "\n```",
        "\n    ",
        "\n[read(a=",
        "\nAction: ",
        "\nprint(",
        "to=functions.",
        "<invoke name='",
        "<｜DSML｜",
    ),
)


@pytest.mark.exhaustive
@cases("piece", REPEATED)
def test_a_hostile_answer_is_looked_through_in_linear_time(piece: str) -> None:
    """No count shows a pattern that tries again and again."""

    def look(answer: str) -> None:
        for start, end in (("", "<"), ("<tool_call><", "</tool_call>")):
            assert find_slip([unit("respond", f"{start}{answer}{end}.")], "action", TOOLS) is None

    assert_linear(lambda size: piece * (size // len(piece)), look, 4_000)


def test_json_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    characters = 0
    feed = JsonObjectReader.feed

    def counting(self: JsonObjectReader, text: str, index: int) -> int:
        nonlocal characters
        stop = feed(self, text, index)
        characters += stop - index
        return stop

    monkeypatch.setattr(JsonObjectReader, "feed", counting)
    answer = f'Text.\n{{"name": "write", "arguments": {{"file": "a", "content": "{LONG}"}}}}'
    assert find_slip([unit("respond", answer)], "xml", TOOLS) is not None
    assert characters <= len(answer)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('read({"file": "a.py"})', True),
        ('Let me look.\n\nread({"file": "a.py"})\nfind({"content": "x"})', True),
        ('functions.read({"file": "a.py"})', True),
        ('<|tool_call|>find{"content": "x"}<|/tool_call|>', True),
        ("Use:\n```js\nread({ file: x })\n```", False),
        ('`read({"file": "a.py"})` reads a file.', False),
        ('other({"file": "a.py"})', False),
    ],
)
def test_a_call_in_parentheses_or_named_before_its_arguments_is_a_slip(text: str, found: bool) -> None:
    unit: RespondEvent = {"type": "respond", "timestamp": 0.0, "id": "u", "content": text}
    slip = find_slip([unit], "native", {"read", "find"})
    assert (slip is not None and slip.leaked) == found
