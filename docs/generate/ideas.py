"""The pages about Ideas: their format, their config, and the messages of a context by type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markup import code, json_type, table

from actum.ideas.published import idea_schema
from actum.messages import KINDS
from actum.messages.kind import Key
from actum.messages.role import RAW
from actum.protocol.config import FIELDS

_SCHEMA: Mapping[str, Any] = idea_schema()


def format_page() -> str:
    """The members of an Idea, and what an element of `calls` may be."""
    members = _SCHEMA["properties"]
    required = set(_SCHEMA["required"])
    rows = [
        (code(name), "yes" if name in required else "", json_type(member), member.get("description", "For editors."))
        for name, member in members.items()
    ]
    calls = _SCHEMA["$defs"]["call"]
    parts = [
        "# The format of an Idea\n",
        f"{_SCHEMA['description']} It is a JSON file; YAML is accepted on reading (extra `yaml`). `actum schema idea` "
        "prints the format as a JSON Schema, by which an editor completes and checks Ideas, and `actum check` says "
        "everything that is wrong with one. Keys that begin with `$` are left alone.\n",
        "In YAML a plain word is what it would be in JSON: `null` or `~`, `true`, `false`, or a number as JSON writes it "
        "(`-12`, `0.5`, `1e3`). All else is the text that was written, also what YAML 1.1 took for something: `NO`, `on`, "
        "`12:30`, `010`, `+49`, `0x1F`, `1_000`, `2024-01-01`. So is every key. Aliases (`*name`) are not accepted.\n",
        table(["key", "required", "is", "what it is for"], rows),
        "The messages of `context` are listed in [Messages](messages.md), the fields of `config` in "
        "[Config](config.md).\n",
        "## A call\n",
        f"{calls['description']} Elements of `calls` in a `solution`, and of `plan` in a "
        "[plan message](messages.md#plan), have these forms; [Tools](tools.md) says what the keys mean.\n",
    ]
    for form in calls["anyOf"]:
        keys = {name: key for name, key in form["properties"].items() if key is not False}
        rows = [
            (code(name), "yes" if name in form["required"] else "", json_type(key), key.get("description", ""))
            for name, key in keys.items()
        ]
        parts += [
            f"### `{form['required'][0]}`\n",
            f"{form['description']}\n",
            table(["key", "required", "is", ""], rows),
        ]
    return "\n".join(parts)


def config_page() -> str:
    """The fields of an Idea's config, which are those of `Config` and a few more, and the limits of a run."""
    fields = _SCHEMA["properties"]["config"]["properties"]
    rows = [
        (code(name), json_type(fields[name]), _default(fields[name]), fields[name].get("description", ""),
         _counts(name))
        for name in FIELDS
    ]  # fmt: skip
    limits = fields["limits"]["properties"]
    bounds = [
        (code(name), json_type(limit), _default(limit), limit.get("description", "")) for name, limit in limits.items()
    ]
    return "\n".join([
        "# Config and limits\n",
        "What an Idea says under `config`, and an agent by `Config(…)` and `Limits(…)`. Every field has a default. The "
        "last column says for whom a field of an Idea's config counts: for an Idea that is your *own* (you run it), a *local* "
        "one (a delegate or tool from this machine), one *from outside* (fetched), perhaps only by grant; "
        "[more on that](../semantics.md#what-an-ideas-config-means).\n",
        table(["field", "is", "default", "what it does", "counts for"], rows),
        "An example is `{\"model\": \"openai:gpt-5.2\", \"activities\": [\"tools.py\"], \"limits\": {\"usd\": 0.5}}`. "
        "`reader` may also be a model object in Python. `activities`, `model`, `servers`, `limits` and `origin` are "
        "of Ideas alone: in Python they are arguments of `Agent`, and `actum.connections.open` for servers.\n",
        "## Limits\n",
        "Bounds of one run, its delegates included; what passes one is LimitExceeded, with what had been done. The "
        "bounds that are fixed are listed under [Limits](../semantics.md#limits).\n",
        table(["limit", "is", "default", "what it bounds"], bounds),
    ])  # fmt: skip


def _counts(name: str) -> str:
    """For whom a field counts."""
    weights = FIELDS[name].weights
    columns = zip(("own", "local", "from outside"), weights, strict=True)
    return ", ".join(who if weight == "counts" else f"{who} by grant" for who, weight in columns if weight != "no")


def _default(schema: Mapping[str, Any]) -> str:
    return code(json.dumps(schema["default"])) if "default" in schema else ""


def messages_page() -> str:
    """Every type of message with its keys."""
    parts = [
        "# Messages\n",
        "A context is a list of messages. Each is a JSON object whose `type` says what it is; keys that begin with `_` "
        "are [marks](../terms.md#what-is-asked-and-answered) that a run leaves. An agent takes further types: see "
        "[Bring a message type of your own](../how-to/message-types.md).\n",
        table(
            ["type", "what its messages are for"],
            [(f"[`{name}`](#{name})", KINDS[name].about) for name in sorted(KINDS) if name != RAW],
        ),
    ]
    for name in sorted(KINDS.keys() - {RAW}):
        kind = KINDS[name]
        keys = [(code(name), *_cells(key)) for name, key in kind.keys.items()]
        if kind.has_short_form:
            keys.append(
                (code(name), "", "anything", "The data, in the long form; in the short form other keys are it.")
            )
        parts += [f"## {name}\n", f"{kind.about}\n"]
        parts += [f"Exactly one of {', '.join(map(code, kind.one_of))}.\n"] if kind.one_of else []
        parts += [table(["key", "required", "is", "what it is for"], keys)] if keys else []
    raw = KINDS[RAW]
    keys = [(code(name), *_cells(key)) for name, key in raw.keys.items()]
    parts += ["## Without a type\n", f"{raw.about}\n", table(["key", "required", "is", "what it is for"], keys)]
    return "\n".join(parts)


def _cells(key: Key) -> tuple[str, str, str]:
    choices = {"enum": list(key.choices)} if key.choices else {"type": list(key.types)} if key.types else {}
    return ("yes" if key.is_required else "", json_type(choices), key.about)
