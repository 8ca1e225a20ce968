"""The page about tools: the meta-properties, and the keys of calls."""

from __future__ import annotations

from markup import code, table

from actum.dataflow.fold import METHODS
from actum.ideas.published import idea_schema
from actum.protocol.call import DERIVED, META, SPELLINGS
from actum.protocol.declaration import ADDABLE, AUTHORS, VALUES


def page() -> str:
    """The meta-properties of tools and calls."""
    others = {canonical: other for other, canonical in SPELLINGS.items()}
    rows = [
        (code(name), _spelt(others.get(name)), _values(name), "yes" if name in META else "",
         "yes" if name in ADDABLE else "", words)
        for name, words in {**META, **AUTHORS}.items()
    ]  # fmt: skip
    keys = {
        name: key["description"]
        for form in idea_schema()["$defs"]["call"]["anyOf"]
        for name, key in form["properties"].items()
        if key is not False and "description" in key and name not in META
    } | {"_then": _then()}
    return "\n".join([
        "# Tools and calls\n",
        "A tool is a JSON Schema object (draft 2020-12). The properties without a leading underscore are its "
        "parameters, those with one its meta-properties. A meta-property is declared under `properties` as a schema "
        "(`{\"const\": …}` fixes it, `{\"enum\": […]}` lets the model choose), or at the top level as a plain value.\n",
        "## Meta-properties\n",
        "*In calls*: a call may have it. *Added by you*: a call that you write yourself may have it although its tool "
        "does not declare it.\n",
        table(["key", "also", "its values", "in calls", "added by you", "what it says"], rows),
        f"A parameter may say `{DERIVED}: false`: it refuses what a reader or an expression has made of what calls "
        "have brought (S10).\n",
        "## Keys of calls\n",
        "These belong to calls alone, not to tools; [When things happen](../semantics.md#order-conditions-names) says "
        "how they work together.\n",
        table(["key", "what it says"], [(code(name), words) for name, words in sorted(keys.items())]),
        "## How a result is written\n",
        f"`_outputMethod` is one of {', '.join(map(code, METHODS))}.\n",
    ])  # fmt: skip


def _spelt(other: str | None) -> str:
    return code(other) if other else ""


def _values(name: str) -> str:
    return VALUES[name].words if name in VALUES else "a schema; in a call the value"


def _then() -> str:
    forms = idea_schema()["$defs"]["call"]["anyOf"]
    return next(form["description"] for form in forms if form["required"] == ["_then"])
