"""A run that is kept, as a row: what it is made of, how far it is, and what it came to."""

from __future__ import annotations

import hmac
import re
import time
import unicodedata
from base64 import b32hexencode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from os import urandom
from typing import Any, Literal, TypeAlias, cast, get_args

from ..errors import ActumError, RunError
from ..ideas.course import is_note
from ..schema.json import Json, JsonObject, encode, is_list, is_object, legible
from . import given

State: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
"""`queued`: for a worker; `running`: a worker owns it; `waiting`: for a decision or an event, held by nobody."""
OVER = frozenset[State]({"done", "failed", "cancelled"})
"""The states that no run leaves."""
BY_HAND = "actum resume"
"""What a run waits for that was cut and that nobody has submitted: no worker goes on with it by itself."""
QUEUE = "runs"
"""The queue that is meant if none is named."""
_LONGEST_NAME = 200
_LONGEST_SOUGHT = 400
"""How much of a name runs are found by: folded it may be longer, and indexes take no more."""
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,59}")
CHILDREN = "children"
"""The queue of runs that carry out calls of others: of its own, so that those who wait for them can't starve them."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


IN_BATCH = "a batch of "
"""What the reason begins with for which a run waits whose request lies in a provider's batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """How a run stands among others."""

    tenant: str = ""
    queue: str = QUEUE
    priority: int = 0
    at: float | None = None
    """When it may begin, in seconds since the epoch."""
    patience: float | None = None
    """How many seconds it waits for decisions before those that are still out are refused."""
    escalate: str | None = None
    """Who is to decide once that time is over, for as long again; None where the calls are refused at once."""
    parent: str | None = None
    """The run of which it carries out a call."""
    tag: str | None = None
    """The tag that a worker has to have."""
    keyed: str | None = None
    """The id that the idempotency keys of its calls are made of, if it isn't its own: it goes on from that run."""

    @property
    def standing(self) -> dict[str, Any]:
        """All of that by name."""
        return {name: getattr(self, name) for name in STANDING}


STANDING: Sequence[str] = tuple(member.name for member in fields(RunStanding))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(RunStanding):
    """What is to be run: an Idea as JSON, where its paths start from, its input, and how it stands among others."""

    id: str
    idea: JsonObject
    origin: str | None = None
    input: JsonObject | None = None
    child: JsonObject | None = None
    """Where that call is, and what bounds it (see `spreading.py`)."""

    @property
    def key(self) -> str:
        """What the idempotency keys of its calls begin with: the same wherever, and however often, it is submitted."""
        return sha256(f"{self.tenant}\0{self.keyed or self.id}".encode()).hexdigest()[:32]


def keyed_by(secret: str, submission: Submission) -> Submission:
    """The submission with the id that its calls' keys are made of: by its place's secret, so that no other place and no
    tenant makes the same, and by what it is called, so that it is the same however often it is submitted."""
    if submission.keyed is not None or submission.parent is not None:
        return submission
    digest = hmac.new(secret.encode(), encode([submission.tenant, submission.id]).encode(), "sha256").hexdigest()
    return replace(submission, keyed=digest[:32])


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker that was lost with a run: when others noticed that, in seconds since the epoch, and what the run did."""

    worker: str
    time: float
    doing: str

    def __str__(self) -> str:
        """In words, for whoever looks into it."""
        return f"{self.worker} (noticed at {datetime.fromtimestamp(self.time, UTC):%Y-%m-%dT%H:%M:%SZ}; {self.doing})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(RunStanding):
    """How far a run is. `lease` counts who has owned it; `worker` is the name of who does."""

    id: str
    state: State
    lease: int = 0
    attempts: int = 0
    """How many that carried nothing else have owned it in a row, since one let go of it or something was recorded."""
    worker: str | None = None
    former: str | None = None
    """Who owned it before, and has neither ended it nor let go of it."""
    losses: Sequence[Loss] = ()
    """The workers that were lost with it, nothing recorded; they make it a suspect."""
    needs: JsonObject | None = None
    """What it needs of who carries it out, noted when it was begun."""
    missing: Sequence[str] = ()
    """What is missing where it was last to be carried out: it waits for a worker that has it."""
    uncarried: float | None = None
    """Since when it has waited for one."""
    output: Json = None
    waiting: Sequence[str] = ()
    """The decisions and gates that it waits for."""
    error: JsonObject | None = None
    """Why it failed, as `ActumError.to_dict` says it."""
    about: JsonObject = field(default_factory=dict[str, Any])
    """What else is known of it: `makers`, `dialect`, `usage`."""
    name: str = ""
    """What its Idea calls itself: the `path` of its meta; empty where it has none."""
    created: float = 0.0
    ended: float | None = None
    is_by_hand: bool = False
    """Whether its user keeps it in a file, and no worker has gone on with it so far."""
    is_parked: bool = False
    """Whether it is queued behind others of its tenant, which has as many as it may."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can become of it any more."""
        return self.state in OVER

    @property
    def escalated(self) -> str | None:
        """Who is to decide on what waits, since nobody did in time; None where that time isn't over."""
        name = self.about.get("escalated")
        return name if isinstance(name, str) else None

    @property
    def is_cut(self) -> bool:
        """Whether it goes on only when somebody says so (`Run.resume`)."""
        return self.state == "waiting" and BY_HAND in self.waiting

    @property
    def is_under_way(self) -> bool:
        """Whether somebody carries it out, or is to: it is not over, and waits for nothing but a model's answer."""
        is_in_batch = self.state == "waiting" and any(reason.startswith(IN_BATCH) for reason in self.waiting)
        return is_in_batch or self.state in {"queued", "running"}


_KINDS: Sequence[tuple[Any, Sequence[str]]] = (
    (str, ("tenant", "queue", "escalate", "tag", "parent", "worker", "former", "keyed", "name")),
    (int, ("lease", "priority", "attempts", "seq")),
    (int | float, ("at", "patience", "created", "ended")),
    (dict, ("error", "about", "child", "input", "needs", "lacks")),
)
_AS_KEPT = ("id", "lease", "attempts", "worker", "former", "needs", "output", "error", "name", "created", "ended")


def row_read(kept: Mapping[str, Any], damaged: Callable[[str], ActumError]) -> Row:
    """How far a run is, from what is kept by name; what is missing or null is as for one that was submitted just now.

    Raises:
        ActumError: as `damaged` puts it, for what is not as runs are kept.
    """
    values = {name: value for name, value in kept.items() if value is not None}
    if values.get("state") not in (*get_args(State), "parked"):
        raise damaged("state")
    for kind, names in _KINDS:
        for name in names:
            if name in values and (not isinstance(values[name], kind) or isinstance(values[name], bool)):
                raise damaged(name)
    waiting, lacks = values.get("waiting", []), values.get("lacks", {})
    missing, since = lacks.get("missing"), lacks.get("since")
    return Row(
        **{name: values[name] for name in (*_AS_KEPT, *STANDING) if name in values},
        state="queued" if values["state"] == "parked" else values["state"],
        is_parked=values["state"] == "parked",
        about=values.get("about", {}),
        waiting=tuple(map(str, waiting)) if is_list(waiting) else (),
        losses=losses_from(values.get("losses")),
        missing=tuple(map(str, missing)) if is_list(missing) else (),
        uncarried=since if isinstance(since, int | float) else None,
    )


def losses_from(kept: Any) -> list[Loss]:
    """The losses of a run as they are kept; what is damaged is left out."""
    items: list[Any] = kept if is_list(kept) else []
    valid = [item for item in items if is_object(item) and isinstance(item.get("time"), int | float)]
    return [Loss(str(item.get("worker")), item["time"], str(item.get("doing"))) for item in valid]


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry of a run's record, told under a lease. `seq` counts the entries of the run from 1.

    `consumed`: the entry begins the run anew, so that those before it are no longer needed, and neither is what the
    run was sent up to this number.
    """

    run: str
    seq: int
    lease: int
    text: str
    is_tick: bool = False
    consumed: int | None = None


Numbered: TypeAlias = tuple[int, JsonObject]
"""An entry of a record, or something that was sent, with its number among these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """What whoever has claimed a run goes on from: its source, its record, and what it was sent meanwhile."""

    source: Submission
    entries: Sequence[JsonObject]
    seq: int
    """The number of the last entry."""
    sent: Sequence[JsonObject]
    consumed: int
    """The number of the last thing that it was sent."""

    @classmethod
    def of(cls, source: Submission, entries: Sequence[Numbered], sent: Sequence[Numbered]) -> RunHistory:
        """What stands in the record of a run, and what it was sent, each with its number."""
        return cls(
            source=source,
            entries=[entry for _, entry in entries],
            seq=entries[-1][0] if entries else 0,
            sent=[item for _, item in sent],
            consumed=sent[-1][0] if sent else 0,
        )

    @property
    def has_progress(self) -> bool:
        """Whether anything was recorded since it was last begun anew."""
        began = next((at for at in reversed(range(len(self.entries))) if "began" in self.entries[at]), -1)
        return any(not is_note(entry) for entry in self.entries[began + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a run has come to, for now or for good."""

    state: State
    output: Json = None
    waiting: Sequence[str] = ()
    error: JsonObject | None = None
    about: JsonObject = field(default_factory=dict[str, Any])
    took: JsonObject = field(default_factory=dict[str, Any])
    """The seconds that its calls and requests have taken; they are told, and not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A run before it is claimed, what it was made of, and the time by the clock of its place."""

    row: Row
    source: Submission
    time: float


def kept_lacks(missing: Sequence[str], since: float) -> JsonObject:
    """What a run lacks, as it is kept."""
    return {"missing": list(missing), "since": round(since, 3)}


def name_in(meta: Any) -> str:
    """What an Idea with this meta calls itself."""
    path: Any = meta.get("path") if is_object(meta) else None
    return path[:_LONGEST_NAME].replace("\0", "") if isinstance(path, str) else ""


def sought(id: str, name: str) -> str:
    """What a run of this id and name is found by, wherever it is kept: databases fold letters each in their own way."""
    return f"{_folded(id)}\n{_folded(name)[:_LONGEST_SOUGHT]}"


def _folded(text: str) -> str:
    """A text without what doesn't count when runs are looked for: the case, and how accents are put together."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Which runs are listed: the newest `most` of those that `takes` takes."""

    state: State | None = None
    tenant: str | None = None
    before: Row | None = None
    """The last one of the page before."""
    find: str = ""
    """A part of what they are `sought` by."""
    most: int = 100

    @classmethod
    def of(cls, find: str, state: State | None, tenant: str | None, before: Row | None, most: int) -> RunPage | None:
        """The page for what somebody has typed, which may be the name of a state; None if no run can be on it.

        Raises:
            RunError: something isn't what it is to be.
        """
        state = None if state is None else given.as_choice(state, "the state of a run", get_args(State))
        tenant = None if tenant is None else given.as_text(tenant, "a tenant")
        most = given.as_whole(most, "`most`", least=0)
        if not isinstance(find, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError(f"what is to be found is a text, not a {type(find).__name__}")
        text = _folded(legible(find).strip().replace("\0", ""))
        if len(text) > _LONGEST_SOUGHT:
            return None
        if text in get_args(State):
            if state not in {None, text}:
                return None
            state, text = cast("State", text), ""
        return cls(state=state, tenant=tenant, before=before, find=text, most=most)

    def takes(self, row: Row) -> bool:
        """Whether a run is one of those that are looked for."""
        return (
            (self.state is None or row.state == self.state)
            and (self.tenant is None or row.tenant == self.tenant)
            and (self.before is None or (row.created, row.id) < (self.before.created, self.before.id))
            and (not self.find or self.find in sought(row.id, row.name))
        )


def check_tag(tag: Any) -> str:
    """A tag, if it can be one.

    Raises:
        RunError: it can't.
    """
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        raise RunError("a tag is up to 60 letters, digits and . _ : @ -, the first a letter or a digit")
    return tag


def new_id() -> str:
    """An id that no run has: by the time first, so that what is kept by ids grows where it was written last."""
    raw = int(time.time() * 1_000).to_bytes(6, "big") + urandom(7)
    return b32hexencode(raw).decode().rstrip("=").lower()


def check_id(run: Any) -> str:
    """The id of a run, if it can be one everywhere: as a file's name, in a URL, on a command line.

    Raises:
        RunError: it can't.
    """
    if not isinstance(run, str) or not _ID.fullmatch(run):
        raise RunError("the id of a run is up to 200 letters, digits and . _ : @ -, the first a letter or a digit")
    return run
