"""Answers that end a turn without a call: announcements of a step that never comes, and answers that only
sound like them."""

import pytest

from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.events import RespondEvent, ThinkEvent
from cogency_tui.protocol.stray_calls import announced_slip

ANNOUNCED = [
    "I'll read the file now.",
    "I’ll read the file now.",
    "I'll read `app.py` first.",
    "I will run the tests.",
    "I'm going to search for the definition of `retry`.",
    "I am going to fix this now.",
    "Let me look at the tests first.",
    "Let me check.",
    "Let me take a closer look at the code.",
    "Let me start by reading the README.",
    "Let's look at the code first.",
    "Now I'll update the README.",
    "Next, I'll add the tests...",
    "Okay, let me now fix the import.",
    "Sure! I'll read the file now.",
    "Got it. Let me find the callers.",
    "The loop never ends. Let me fix that.",
    "The bug is in `app.py`, line 3. I'll fix it now.",
    "I see the problem. I'll apply the fix.",
    "First, I'll list the files in src/.",
    "I'll go ahead and create the file.",
    "I'll investigate the failing test.",
    "I'll just quickly run pytest!",
    "Reading app.py now.",
    "Now running the tests...",
    "I'm checking the configuration now.",
    "Looking at the tests…",
    "Starting the server…",
    "Now creating the module...",
    "I'm fixing the import now.",
    "**Fixing the import…**",
    "**Next step:** run the tests",
    "Next: fix the import in `app.py`.",
    "**I'll read the file now.**",
    "Let me look at README...",
    "**Next:** I'll run the tests",
    "I'm now going to run the tests.",
    "I will now proceed to edit the file.",
    "Let me see what the tests say.",
    "First, let me understand the code.",
    "The test failed. Let me try another approach.",
    "Let me restart the server.",
    "Let me get the list of files.",
    "Let me correct the call.",
    "I'll use the read tool.",
    "I'll use `shell` to run the tests.",
    "I found the file. Next, I'll fix it.",
    "I found the problem in line 12: the width is wrong.\n\nNow let me fix it.",
    "The search found nothing, so the names differ.\n\nLet me search for another pattern.",
    "I found it.\nLet me fix it.",
    "Two things are wrong:\n\n- the width\n- the height\n\nI'll update `app.py`.",
    "The loop is this:\n\n```python\nwhile 1: pass\n```\n\nI'll fix it now.",
    "Why does it fail? The width is wrong.\n\nLet me fix it.",
    "My plan:\n\n1. Read the parser\n2. Fix it\n\nLet me read the parser.",
    "I'll check the tests. Then I'll fix the bug.",
    "I'll read the config. Then I'll change the parser.",
    "I see the problem. Let me read the test. Then I'll fix it.",
    "Let me read the test. Next, I'll fix it. Then I'll run it again.",
    "The width is wrong.\n\nLet me read the test. Then I'll fix it.",
    "I don't know the names yet, so let me search for them.",
    "The file is long, so I'm reading it now.",
    "Now I'm reading the tests…",
    "Now I'm reading the tests for the parser.",
    "I'm now reading the tests.",
    "Reading `test/test_api.py`...",
    "I need to use the read tool to view the file.",
    "I must read the file first.",
    "First step: read README.md",
    "**Step 1: search the file**",
    "I'll do it in two steps.\n\n**Step 1:** read the file",
    "Let me fix the `<div>` in line 3.",
    "I'll search for `if a: b; c?`.",
    "Three tests fail:\n\n1. a\n2. b\n3. c\n\nLet me look at each of these.",
    "The path was wrong. Let me try with the right one.",
    "Let me now make the change.",
    "I'll make these edits now.",
    "I'll do that now.",
    "Let me count the functions.",
    "To answer this, I need to look at the file.",
    "To fix this, I'll edit `app.py`.",
    "Since the file is large, I'll read it in parts.",
    "I will use the `read` function to view the file.",
    "I'm going to call `read` now.",
    "I should read the file first.",
    "All right, let me get started by reading README.md.",
    "The tests fail because of the import — let me fix that.",
    "The tests fail because of the import; let me fix that.",
    "It is in `app.py`, let me read it.",
    "Let me read the file. After that, I'll fix it.",
    "# Findings\n\nThe tests fail.\n\nI'll start by reading the first one.",
]
AT_ONCE = [
    "Now I'll stop the loop.",
    "Let me stop the server.",
    "Let me now stop the loop and update the plan.",
    "I'll ask you about the name first.",
    "Time to write the tests.",
    "It's time to write the tests.",
    "I will now commit the change.",
    "I'll kill the server now.",
    "Now I run the tests.",
    "Stopping the loop now.",
    "The port is taken. Let me free it.",
]
"""With any verb, wherever the conversation is."""
OPEN = [
    *AT_ONCE,
    "I'll stop the loop.",
    "I'll commit the change.",
    "I'm about to stop the loop.",
    "The tests pass; I'll stop the loop and update the plan.",
    "I'll ask you about the name.",
    "Finally, I'll clean up.",
    "Now for the tests.",
    "On to the tests.",
    "I still need to convert the docs.",
    "Let's convert the docs.",
    "I'm now converting the docs.",
    "All 12 tests pass. The width was read as a string in two places, which is why the table came out "
    "narrow, and the height was never read at all, so that every table had the same one, whatever was in "
    "the file. I'll convert the docs.",
    "I read the parser. It has two parts. I'll split it.",
]
"""Where work is open."""
WAITS = [
    "The tests are running in the background; I'll wait for the result.",
    "The tests are running in the background; I'll report when they finish.",
    "I'll report when they finish.",
    "I'll let you know when the build is done.",
    "Waiting for the tests…",
    "I'm waiting for the tests to finish.",
    "The tests run. Once they have finished, I'll report back.",
    "I'll continue once the build is done.",
    "I'm monitoring the output.",
    "I'll keep an eye on the log.",
    "I'll check the result when they finish.",
    "They take a minute, I'll get back to you then.",
]
ENDS = [
    "I'll be happy to help further.",
    "Let me know if you want more.",
    "Let me know what you think.",
    "I'll leave `parse` as it is.",
    "I'll leave it there for now.",
    "I'll keep that in mind.",
    "I'll use the default for now.",
    "I'll go with option B.",
    "I'll stop here.",
    "I'll wait for your answer.",
    "I'll wait for you.",
    "I'll let you decide.",
    "I'll commit it if you like.",
    "I'll stop it when you're done.",
    "I'll commit it once you confirm.",
    "Tell me which one you prefer, and I'll convert it.",
    "Shall I commit it? I'll push it too.",
    "My plan:\n\n1. Read the parser\n2. Fix it\n\nI'll convert the docs.",
    "The server runs at http://localhost:8000. Let me know when you want it stopped.",
    "The server is running on port 8000.",
    "Everything works now.",
    "Now the tests pass.",
    "All tests pass now.",
    "Done. Next, you can deploy it.",
    "I stopped the loop.",
    "Next time I'll stop the loop first.",
    "I have to admit that it is slow.",
    "I'll need the token from you.",
    "It works, but I'd convert the docs later.",
    "It is time to renew your certificate.",
    "Waiting longer does not help.",
    "I'll help you with that.",
    "1. I'll stop the loop.",
]
"""Answers, wherever the conversation is."""
ANSWERS = [
    "I'll leave it there.",
    "Let me know if you want more.",
    "Let me know what you think.",
    "I'll wait.",
    "I'll wait for your answer.",
    "I'll keep that in mind.",
    "I'll remember that.",
    "I'll check in with you tomorrow.",
    "I'll run it if you like.",
    "I'll fix it once you confirm.",
    "I will do so as soon as you have pushed.",
    "Shall I run the tests? I'll fix what fails.",
    "I'll run the tests after each change.",
    "From now on I'll run the tests.",
    "Understood, from now on. I'll run the tests.",
    "I'll always check the types first.",
    "I'll add tests next time.",
    "I'll write shorter answers in future.",
    "I'll write it in your language.",
    "I'll go with option B.",
    "I'll try to be more concise.",
    "I'll look forward to it.",
    "I'll call it `retry`.",
    "I'll make sure of that.",
    "I'll explain it to you.",
    "Let me explain.",
    "Let me think about it.",
    "Let's keep it as it is.",
    "First I'll read the config. Then I'll change the parser. Finally I'll run the tests.",
    "I'll read the config. It has two parts. Then I'll change the parser.",
    "My plan is simple. I'll read the config and change the parser.",
    "I would read the config first.",
    "I'll review it later.",
    "I'll fix that in the next release.",
    "Done. The tests pass.",
    "I've read the file now.",
    "I read the file and ran the tests.",
    "You can run the tests now.",
    "It runs now.",
    "Reading the file is enough.",
    "Looking at it now, the change seems right to me.",
    "Checking the types is what mypy does.",
    "Running the tests takes a minute.",
    "He says: I'll read the file now.",
    '"I\'ll read the file now." is what the model wrote.',
    "I'll read it.\n\nThat is the first step.",
    "The parser is now linear.\n\nLet me know.",
    "Should I read the file now?",
    "Let me see what you think.",
    "I'll use tabs to indent.",
    "I'll call it the parser tool later.",
    "I'll continue as you like.",
    "Starting the server takes a minute.",
    "Next step: you decide.",
    "Done. **Next step:** run the tests.",
    "I'll fix the bug in `parse` by reading ahead one token, which keeps the loop linear, and by joining the "
    "pieces at the end, which keeps memory bounded, so that neither long lines nor many of them matter any more.",
    "The width is wrong.\n\nI'll fix it if you like.",
    "The width is wrong.\n\nShall I fix it?",
    "Shall I fix the width?\n\nI'll update the README too.",
    "The width is wrong.\n\nPlease confirm the new one.\n\nI'll update `app.py`.",
    "Let me know which width is right.\n\nI'll fix it.",
    "My plan:\n\n1. Read the parser\n2. Fix it\n\nI'll run the tests.",
    "The steps are:\n\n1. I'll read the parser.\n2. I'll fix it.",
    "What I do next:\n- I'll run the tests.",
    "A good commit message is:\n\nLet me fix the width.",
    "The model wrote:\n\n> I'll read the file now.",
    "The log says:\n\n```\nI'll read the file now.\n```",
    "I'll read the file now.\n\n```\nwidth = 3\n```\n\nThe width is 3.",
    "I'll fix the width.\n\nDone: it is 4.",
    "The width is wrong. " * 80 + "\n\nI'll fix it.",
    "The tests pass.\n\nI'll run them after each change.",
    "All is done.\n\n**Next step:** run the tests",
    "I need to know the width.",
    "I need to get the token from you.",
    "I need to run the tests, but the shell is not allowed.",
    "I have to say that it works.",
    "It was slow, so I read it once.",
    "It was slow, so running it takes a minute.",
    "I'm now sure of it.",
    "Now I'm looking forward to it.",
    "Do this in order.\n\n**Step 1:** install it\n\n**Step 2:** run the tests",
    "**Step 1** is to read the file.",
    "Action: none",
    "The answer is `Let me fix it.`",
    "I have to add that it is slow.",
    "Let me add: the tests are slow.",
    "Understood. I'll write in German.",
    "If the tests fail, I'll fix them.",
    "When it is merged, I'll remove the branch.",
    "Once CI is green, I'll update the README.",
    "Noted, I'll run ruff before each commit.",
    "I can't run the tests, so I'll need to check them with you.",
    "I'll count on it.",
    "I should add that it is slow.",
    "It took long, so checking it now is cheap.",
    "| step | do |\n|---|---|\n| 1 | I'll read it |",
]
CODE = [
    "I'll run the search:\n\n```bash\nrg -n retry src/\n```",
    "I'll run the search:\n```sh\nrg -n retry src/",
    "The index may be stale.\n\nLet me check the tests:\n```shell\npytest -q\n```\n",
    "Now I'll run the tests.\n\n```console\n$ pytest\n```",
    "Let me run the following command:\n```bash\nls\n```",
    'I\'ll check.\n\n```python\nfind(content="retry")\n```',
    'Let me read it.\n```\nread("app.py")\n```',
]
LISTINGS = [
    "Run the tests:\n\n```bash\npytest\n```",
    "You can run it with\n\n```bash\npython app.py\n```",
    "Done. To run the tests:\n\n```bash\npytest\n```",
    "I ran the tests:\n\n```bash\npytest\n```",
    "I'll list the commands:\n\n```bash\npytest\nruff check\n```",
    "I'll write the script for you:\n\n```bash\npytest\n```",
    "Let me show the command:\n\n```bash\npytest\n```",
    "Let me explain it with an example:\n\n```bash\npytest\n```",
    "I'll run it if you like:\n\n```bash\npytest\n```",
    "I'll run the tests:\n\n```bash\npytest\n```\n\nThat is the command which CI uses.",
    "I'll write the function:\n\n```python\ndef width(): return 3\n```",
    'Let me fix the line.\n\n```python\nload(file="a")\n```',
    'The call is this:\n\n```python\nfind(content="retry")\n```',
    "Which one? I'll run the tests:\n\n```bash\npytest\n```",
    "```bash\npytest\n```",
]


def answer(text: str) -> list[RespondEvent]:
    return [{"type": "respond", "timestamp": 0.0, "id": "u", "content": text}]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ANNOUNCED)
def test_the_announcement_of_a_step_is_no_answer(text: str, dialect: Dialect) -> None:
    slip = announced_slip(answer(text), dialect)
    assert slip is not None
    assert "announces a step" in slip.problem


@pytest.mark.parametrize("text", AT_ONCE)
def test_a_step_that_is_taken_at_once_is_no_answer_whatever_its_verb(text: str) -> None:
    slip = announced_slip(answer(text), "xml")
    assert slip is not None
    assert "announces a step" in slip.problem


@pytest.mark.parametrize("text", [*ANNOUNCED, *OPEN])
def test_while_work_is_open_no_step_with_any_verb_is_an_answer(text: str) -> None:
    slip = announced_slip(answer(text), "native", is_open=True)
    assert slip is not None
    assert "announces a step" in slip.problem


@pytest.mark.parametrize("text", WAITS)
def test_that_the_model_waits_is_no_answer_while_commands_run(text: str) -> None:
    slip = announced_slip(answer(text), "xml", is_open=True, awaits=True)
    assert slip is not None
    assert "announces that you wait" in slip.problem
    assert 'processes with action "wait"' in slip.cure


@pytest.mark.parametrize("text", ENDS)
def test_an_answer_is_one_while_work_is_open_and_commands_run(text: str) -> None:
    assert announced_slip(answer(text), "native", is_open=True, awaits=True) is None
    assert announced_slip(answer(text), "native") is None


@pytest.mark.parametrize("text", ["Let me read the file.", "Here is what I do:"])
def test_a_thought_after_an_announcement_is_no_answer_either(text: str) -> None:
    thought: ThinkEvent = {
        "type": "think",
        "timestamp": 0.0,
        "id": "t",
        "content": "Now I have to call read.",
    }
    assert announced_slip([*answer(text), thought], "native") is not None
    assert announced_slip([*answer("It is 3."), thought], "native") is None


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_no_announcement(text: str) -> None:
    assert announced_slip(answer(text), "native") is None


@pytest.mark.parametrize("text", CODE)
def test_the_announcement_of_code_that_nothing_runs_is_no_answer(text: str) -> None:
    slip = announced_slip(answer(text), "native", {"find", "read"})
    assert slip is not None
    assert "as code in a Markdown fence" in slip.problem


@pytest.mark.parametrize("text", LISTINGS)
def test_code_for_the_user_is_an_answer(text: str) -> None:
    assert announced_slip(answer(text), "native", {"find", "read"}) is None


@pytest.mark.parametrize(
    ("text", "is_offer"),
    [
        ("Done. If you like, I can now update the docs:", True),
        ("All tests pass.\n\nIf you’d prefer, I’ll split it in two:", True),
        ("I can also bump the version if you want:", True),
        ("If you like, I can do one of the following:", False),
        ("To run it, if you want:", False),
        ("If you want to run the tests:", False),
        ("I will now run the tests:", False),
    ],
)
def test_an_offer_that_ends_with_a_colon_is_an_answer(text: str, is_offer: bool) -> None:
    assert (announced_slip(answer(text), "xml") is None) is is_offer
