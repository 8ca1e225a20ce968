"""What no record holds reaches followers: in order, nothing twice, corrected when another worker goes on (L8, O9)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Runs, Tools, events, models
from actum.protocol.call import Call, Place
from actum.runs.following import Entry, Live
from actum.runs.live.broadcasting import LiveRun, LiveRuns
from actum.runs.live.channel import Channel
from actum.runs.live.hearing import Hearing
from actum.schema.json import decode

from ..effort import trials
from .desks import PATIENCE, Desk, Json, chain, serving, sql, until
from .fleet import fleet
from .streaming import TEXT

pytestmark = pytest.mark.rule("L8")


class Reader:
    """What a program that shows the texts of a run makes of live events."""

    def __init__(self) -> None:
        self.texts = defaultdict[tuple[str, bool], str](str)
        self.names = Counter[str]()

    def read(self, event: Json) -> None:
        self.names[event["event"]] += 1
        if event["depth"]:
            return
        if event["event"] in {"RequestStarted", "Retried"}:
            self.texts.clear()
        if event["event"] == "TextDelta":
            self.texts[event["member"], event["provisional"]] += event["text"]


def talking(answers: list[Any], tools: Tools | None = None) -> Agent:
    return Agent(models.Scripted(answers, chunk=2, delay=0.002), tools=tools or Tools())


IDEA: Json = {"context": [{"type": "text", "text": "go"}]}


@pytest.mark.rule("O9")
async def test_the_pieces_of_a_text_reach_a_follower_once_each(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(IDEA)
        reader = Reader()
        async with serving(runs, talking([{"calls": [], "output": {"said": TEXT, "by": "fox"}}])):
            async for item in run.follow(live=True):
                if isinstance(item, Live):
                    reader.read(item.data)
        assert reader.texts["said", False] == TEXT
        assert reader.texts["by", False] == "fox"
        assert reader.names["TextDelta"] >= 2
        assert reader.names["OutputDelta"] >= 1  # what comes faster than it is told is told together
        assert reader.names["RequestStarted"] == 1


@pytest.mark.rule("O9")
async def test_who_comes_late_is_told_the_text_so_far_and_nothing_twice(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(IDEA)
        first, late, after = Reader(), Reader(), Reader()
        others: list[asyncio.Task[None]] = []

        async def look_on(reader: Reader) -> None:
            async for item in run.follow(live=True):
                if isinstance(item, Live):
                    reader.read(item.data)
                    if reader is first and reader.names["TextDelta"] >= 2 and not others:
                        others.append(asyncio.create_task(look_on(late)))

        async with serving(runs, talking([{"calls": [], "output": TEXT}])), asyncio.timeout(PATIENCE):
            await look_on(first)
            await asyncio.gather(*others)
            await look_on(after)
        assert [reader.texts["", False] for reader in (first, late, after)] == [TEXT] * 3


async def test_progress_and_what_is_begun_reach_a_follower(place: str) -> None:
    tools = Tools()
    is_seen = asyncio.Event()

    @tools.tool
    async def slow(of: str, context: Context) -> str:
        """Take a step that says how far it is."""
        for done in range(1, 4):
            context.progress(done, 3, of)
        await asyncio.wait_for(is_seen.wait(), PATIENCE)
        return of

    assert slow.name == "slow"
    async with Runs(place) as runs:
        run = await runs.submit(chain(1, "slow"))
        received: list[Json] = []
        async with serving(runs, Agent(None, tools=tools)):
            async for item in run.follow(live=True):
                received += [item.data] if isinstance(item, Live) else []
                if any(event["event"] == "CallProgress" and event["done"] == 3 for event in received):
                    is_seen.set()
        progress = next(event for event in received if event["event"] == "CallProgress" and event["done"] == 3)
        assert (progress["place"], progress["total"], progress["message"]) == ("0.0", 3, "go")
        assert "CallStarted" in {event["event"] for event in received}


async def test_a_follower_that_asks_for_no_more_sees_entries_alone(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(IDEA)
        async with serving(runs, talking([{"calls": [], "output": TEXT}])):
            assert all([isinstance(item, Entry) async for item in run.follow()])
        assert [item async for item in runs.follow(run.id)] == [item async for item in run.follow()]


async def test_nothing_is_sent_for_a_run_that_nobody_listens_to() -> None:
    class Counting(Channel):
        sent = 0

        async def tell(self, run: str, messages: Any) -> None:
            self.sent += len(messages)
            await super().tell(run, messages)

    desk = Desk()
    async with Runs(":memory:") as runs:
        channel = sql(runs).database.channel = Counting()
        run = await runs.submit(chain(3))
        async with serving(runs, desk.agent()):
            await run.result(timeout=PATIENCE)
            assert channel.sent == 0
            other = await runs.submit(chain(3))
            assert [item async for item in other.follow(live=True) if isinstance(item, Live)]
        assert channel.sent > 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
async def test_an_answer_whose_worker_is_killed_is_corrected_and_not_doubled(place: str, tmp_path: Path) -> None:
    """Its calls are under way then: what is recorded is not made again."""
    for _ in range(trials(10, least=1)):
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        await _killed(place, tmp_path / str(seed), random.Random(seed))


async def _killed(place: str, folder: Path, drawn: random.Random) -> None:
    reader, order = Reader(), list[str]()
    pieces = drawn.randrange(1, 8)
    async with Runs(place) as runs:
        with fleet(place, folder, drawn.randrange(10**6), program="streaming.py") as workers:
            workers.start()
            await until(lambda: _is(workers.up == 1))
            run = await runs.submit(IDEA)
            async with asyncio.timeout(120):
                async for item in run.follow(live=True):
                    if isinstance(item, Entry):
                        order += ["began"] if "began" in item.data and not item.data["at"] else []
                        continue
                    reader.read(item.data)
                    order += ["Retried"] if item.data["event"] == "Retried" else []
                    if reader.names["TextDelta"] >= pieces and len(workers.workers) == 1:
                        await until(lambda: _is("0.2 1\n" in (folder / "begun").read_text()))
                        workers.workers[0].kill()
                        workers.start()
        assert (await run.result()).output == TEXT
        assert run.row.lease == 2
    # What the file of an ended run has taken up before a late follower asks is told as one entry.
    late = ["began"] if len(order) == 4 and place.endswith("kept") else []
    assert order == ["began", "began", "Retried", *late]
    assert reader.texts["", False] == TEXT
    # What was recorded is not made again; what was under way is.
    assert (folder / "begun").read_text().split("\n")[:4] == ["0.0 1", "0.1 1", "0.2 1", "0.2 2"]


async def _is(value: bool) -> bool:
    return value


# A follower by itself: messages are lost, come twice, and come from one who has lost the run.


def _pieces(text: str, drawn: random.Random) -> list[str]:
    pieces = list[str]()
    while text:
        size = drawn.randrange(1, 9)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def _delta(text: str, *, provisional: bool = False) -> events.TextDelta:
    return events.TextDelta(member="", text=text, provisional=provisional, at=1.0)


def _request() -> events.RequestStarted:
    return events.RequestStarted(context=[], messages=[], schema={}, at=1.0)


async def test_messages_that_are_lost_or_doubled_never_double_a_text() -> None:
    for _ in range(trials(500)):
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        drawn = random.Random(seed)
        live_run = LiveRun("r", 1, lambda: 1, lambda _: None, most=7_500)
        hearing, reader = Hearing(Channel(), "r"), Reader()
        hearing.owned(1)
        words = "".join(drawn.choice("aé\n\x01𝄞") for _ in range(drawn.randrange(1, 200)))
        live_run(_request())
        for piece in _pieces(words, drawn):
            live_run(_delta(piece))
            if drawn.random() < 0.1:
                live_run.repeat()
            for message in live_run.messages() * drawn.choice([0, 1, 1, 2]):
                hearing.hear(message)
            _read(hearing, reader)
            assert words.startswith(reader.texts["", False])
        live_run.repeat()
        for message in live_run.messages():
            hearing.hear(message)
        _read(hearing, reader)
        assert reader.texts["", False] == words
        for event in hearing.entry(_output(words + "!")):
            reader.read(event)
        assert reader.texts["", False] == words + "!"


def _read(hearing: Hearing, reader: Reader) -> None:
    for event in hearing.before(2):
        reader.read(event)


def _output(text: str) -> Json:
    return {"at": [], "message": {"type": "output", "output": text, "_of": "0"}}


async def test_what_a_worker_says_that_has_lost_the_run_is_not_shown() -> None:
    stale, current = (LiveRun("r", lease, lambda: 1, lambda _: None, most=7_500) for lease in (1, 2))
    hearing = Hearing(Channel(), "r")
    hearing.owned(1)
    stale(_delta("one "))
    _hear_all(hearing, stale)
    assert _texts(hearing.before(2)) == ["one "]
    stale(_delta("two"))
    _hear_all(hearing, stale)
    current(_delta("One "))
    _hear_all(hearing, current)
    assert _texts(hearing.before(2)) == ["two"]  # nobody knows yet that it has been lost
    hearing.owned(2)
    assert _texts(hearing.before(1)) == []
    assert [event["error"]["code"] for event in hearing.corrected({"at": [], "began": [], "run": "x"})] == ["fenced"]
    stale(_delta("three"))
    _hear_all(hearing, stale)
    assert _texts(hearing.before(2)) == ["One "]
    assert list(hearing.corrected({"at": ["0.0"], "began": [], "run": "y"})) == []  # that of a delegate


async def test_an_output_that_was_delivered_before_the_worker_died_is_not_taken_back() -> None:
    live_run = LiveRun("r", 1, lambda: 1, lambda _: None, most=7_500)
    hearing = Hearing(Channel(), "r")
    hearing.owned(1)
    live_run(_delta("the en"))
    _hear_all(hearing, live_run)
    list(hearing.before(2))
    hearing.owned(2)
    began: Json = {"at": [], "began": [_output("the end")["message"]], "run": "x"}
    assert _texts(hearing.entry(began)) == ["d"]
    assert list(hearing.corrected(began)) == []


async def test_what_is_heard_behind_the_output_of_the_record_takes_nothing_of_it_back() -> None:
    live_run = LiveRun("r", 1, lambda: 1, lambda _: None, most=7_500)
    hearing, reader = Hearing(Channel(), "r"), Reader()
    hearing.owned(1)
    live_run(_request())
    live_run(_delta("the en"))
    for event in hearing.entry(_output("the end")):  # who comes late reads the record first
        reader.read(event)
    _hear_all(hearing, live_run)
    _read(hearing, reader)
    assert (reader.texts["", False], reader.names["RequestStarted"]) == ("the end", 0)


async def test_a_message_is_never_longer_than_the_channel_takes() -> None:
    live_run = LiveRun("r" * 200, 1, lambda: 10**9, lambda _: None, most=7_500)
    long = '\x01𝄞"' * 20_000
    live_run(_delta(long))
    live_run(events.OutputDelta(value=long, at=1.0))
    live_run(events.CallStarted(call=Call({"_tool": "x", "of": "y"}), place=Place.parse("3.0"), at=1.0))
    messages = live_run.messages()
    assert max(len(message.encode()) for message in messages) <= 7_500
    sent = [item["event"] for message in messages for item in _object(message)["items"]]
    assert "".join(event["text"] for event in sent if event["event"] == "TextDelta") == long
    assert "CallStarted" in {event["event"] for event in sent}
    assert "OutputDelta" not in {event["event"] for event in sent}  # too long, and its strings are told


@pytest.mark.parametrize("message", ["", "7", "[]", "{}", '{"lease": 1}', '{"lease": 1, "items": [7]}', '{"items":{}}'])
async def test_what_is_no_message_of_a_worker_is_passed_over(message: str) -> None:
    hearing = Hearing(Channel(), "r")
    hearing.owned(1)
    hearing.hear(message)
    assert list(hearing.before(10)) == []


async def test_it_counts_only_for_a_while_that_somebody_listens() -> None:
    now = 0.0
    channel = Channel()
    lives = LiveRuns(channel, lambda: now)
    messages: list[str] = []
    async with channel.follows(lives.follow), channel.hear("r", messages.append):
        live = lives.begin("r", 1, lambda: 1)
        await channel.ask("r", anew=True)
        live(_delta("a"))
        await lives.flush()
        now = 100.0
        live(_delta("b"))
        await lives.flush()
        assert len(messages) == 1
        await channel.ask("r", anew=False)
        await lives.flush()
        assert [item["event"]["text"] for item in _object(messages[-1])["items"]] == ["ab"]


def _hear_all(hearing: Hearing, live_run: LiveRun) -> None:
    for message in live_run.messages():
        hearing.hear(message)


def _texts(items: Iterable[Json]) -> list[str]:
    return [event["text"] for event in items if event["event"] == "TextDelta"]


def _object(text: str) -> Json:
    value: Any = decode(text)
    return value
