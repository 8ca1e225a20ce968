"""The row of a run: what was submitted, how far it is, and what it came to."""

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
from ..schema.json import Json, JsonObject, encodable, encode, is_list, is_object
from . import checks

State: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
"""`queued`: for a worker; `running`: a worker owns it; `waiting`: for a decision or an event, held by nobody."""
OVER = frozenset[State]({"done", "failed", "cancelled"})
"""The states that no run leaves."""
BY_HAND = "actum resume"
"""What an interrupted run waits for that nobody has submitted: no worker resumes it unasked."""
QUEUE = "runs"
"""The default queue."""
_LONGEST_NAME = 200
_LONGEST_SOUGHT = 400
"""How much of a folded name can be searched: folding may lengthen it, and indexes take no more."""
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,59}")
CHILDREN = "children"
"""The queue of child runs: a separate one, so that the parents that wait for them can't starve them."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


IN_BATCH = "a batch of "
"""How the reason begins for which a run waits whose request lies in a provider's batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """Whose a run is, and when, where and on whose behalf it runs."""

    tenant: str = ""
    queue: str = QUEUE
    priority: int = 0
    at: float | None = None
    """When it may begin, in seconds since the epoch."""
    patience: float | None = None
    """How many seconds it waits for decisions; then the calls that are still undecided are refused."""
    escalate: str | None = None
    """Who decides once that time is over, for as long again; None refuses the calls at once."""
    parent: str | None = None
    """The run whose call it carries out."""
    tag: str | None = None
    """The tag that its worker must have."""
    keyed: str | None = None
    """The id from which its calls' idempotency keys derive, if not its own: that of the run that it continues."""

    @property
    def standing(self) -> dict[str, Any]:
        """These fields by name."""
        return {name: getattr(self, name) for name in STANDING}


STANDING: Sequence[str] = tuple(member.name for member in fields(RunStanding))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(RunStanding):
    """What is to be run: an Idea as JSON, where its paths start from, its input, and where and when it runs."""

    id: str
    idea: JsonObject
    origin: str | None = None
    input: JsonObject | None = None
    child: JsonObject | None = None
    """The place of that call, its root run, lineage and limits (see `run_spreading.py`)."""

    @property
    def key(self) -> str:
        """What the idempotency keys of its calls begin with: the same however often it is submitted."""
        return sha256(f"{self.tenant}\0{self.keyed or self.id}".encode()).hexdigest()[:32]


def keyed_by(secret: str, submission: Submission) -> Submission:
    """The submission with the id from which its calls' idempotency keys derive.

    A digest of the place's secret, the tenant and the run's id: no other place or tenant arrives at the same one, and
    the same run always does.
    """
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
        """In words, for operators."""
        return f"{self.worker} (noticed at {datetime.fromtimestamp(self.time, UTC):%Y-%m-%dT%H:%M:%SZ}; {self.doing})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(RunStanding):
    """How far a run is. `lease` counts its owners so far; `worker` is the name of the current one."""

    id: str
    state: State
    lease: int = 0
    attempts: int = 0
    """How many workers that carried nothing else have owned it in a row, with nothing released or recorded between."""
    worker: str | None = None
    former: str | None = None
    """Its previous worker, if that has neither ended nor released it."""
    losses: Sequence[Loss] = ()
    """The workers that were lost with it while it recorded nothing; they make it a suspect."""
    needs: JsonObject | None = None
    """What its worker must have, noted when it was begun."""
    missing: Sequence[str] = ()
    """What the last worker to look at it lacked: it waits for one that has it."""
    uncarried: float | None = None
    """Since when it has waited for such a worker."""
    output: Json = None
    waiting: Sequence[str] = ()
    """The decisions and gates that it waits for."""
    error: JsonObject | None = None
    """Why it failed, as `ActumError.to_dict` returns it."""
    about: JsonObject = field(default_factory=dict[str, Any])
    """What else is known of it: `makers`, `dialect`, `usage`."""
    name: str = ""
    """What its Idea calls itself: the `path` of its meta; empty where it has none."""
    created: float = 0.0
    ended: float | None = None
    is_by_hand: bool = False
    """Whether its user keeps it in a file and no worker has carried it yet."""
    is_parked: bool = False
    """Whether it is queued behind others of its tenant, which has as many in the queue as it may."""

    @property
    def gates(self) -> Sequence[str]:
        """What it waits for besides decisions: gates, and other runs."""
        return [name for name in self.waiting if not name.startswith("approval ")]

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good."""
        return self.state in OVER

    @property
    def escalated(self) -> str | None:
        """Who has to decide on what waits, since nobody did in time; None while that time isn't over."""
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
    """How far a run is, from stored values by name; what is missing or null is as for a run that was just submitted.

    Raises:
        ActumError: made by `damaged`, for a value that no run is stored with.
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
    """The losses of a run from their stored form; what is damaged is left out."""
    items: list[Any] = kept if is_list(kept) else []
    valid = [item for item in items if is_object(item) and isinstance(item.get("time"), int | float)]
    return [Loss(str(item.get("worker")), item["time"], str(item.get("doing"))) for item in valid]


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to append to a run's record under a lease. `seq` counts the entries of the run from 1.

    `consumed`: the entry begins the run anew, which makes obsolete the entries before it, and the messages that the run
    was sent up to this number.
    """

    run: str
    seq: int
    lease: int
    text: str
    is_tick: bool = False
    consumed: int | None = None


Numbered: TypeAlias = tuple[int, JsonObject]
"""An entry of a record, or a message that was sent, with its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """What a run goes on from: its submission, its record, and the messages sent to it meanwhile."""

    source: Submission
    entries: Sequence[JsonObject]
    seq: int
    """The number of the last entry."""
    sent: Sequence[JsonObject]
    consumed: int
    """The number of the last message."""

    @classmethod
    def of(cls, source: Submission, entries: Sequence[Numbered], sent: Sequence[Numbered]) -> RunHistory:
        """From the entries of a run's record and the messages sent to it, each with its number."""
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
    """The seconds that its calls and requests have taken; they are logged, not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run as it is before a claim: its row, its submission, and the time by the clock of its place."""

    row: Row
    source: Submission
    time: float


def kept_lacks(missing: Sequence[str], since: float) -> JsonObject:
    """What a run lacks, as it is stored."""
    return {"missing": list(missing), "since": round(since, 3)}


def name_in(meta: Any) -> str:
    """What an Idea with this meta calls itself."""
    path: Any = meta.get("path") if is_object(meta) else None
    return path[:_LONGEST_NAME].replace("\0", "") if isinstance(path, str) else ""


def sought(id: str, name: str) -> str:
    """The text by which a run of this id and name is found, folded here because each database folds in its own way."""
    return f"{_fold(id)}\n{_fold(name)[:_LONGEST_SOUGHT]}"


def _fold(text: str) -> str:
    """A text without what doesn't count in a search: the case of letters, and how accents are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Which runs are listed: the newest `most` of those that `takes` accepts."""

    state: State | None = None
    tenant: str | None = None
    before: Row | None = None
    """The last one of the page before."""
    find: str = ""
    """A part of the text by which they are `sought`."""
    most: int = 100

    @classmethod
    def of(cls, find: str, state: State | None, tenant: str | None, before: Row | None, most: int) -> RunPage | None:
        """The page for what somebody has typed, which may be the name of a state; None if no run can be on it.

        Raises:
            RunError: something isn't what it is to be.
        """
        state = None if state is None else checks.as_choice(state, "the state of a run", get_args(State))
        tenant = None if tenant is None else checks.as_text(tenant, "a tenant")
        most = checks.as_whole(most, "`most`", least=0)
        if not isinstance(find, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError(f"what is to be found is a text, not a {type(find).__name__}")
        text = _fold(encodable(find).strip().replace("\0", ""))
        if len(text) > _LONGEST_SOUGHT:
            return None
        if text in get_args(State):
            if state not in {None, text}:
                return None
            state, text = cast("State", text), ""
        return cls(state=state, tenant=tenant, before=before, find=text, most=most)

    def takes(self, row: Row) -> bool:
        """Whether a run belongs on the page."""
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
    """A new id. It begins with the time, so that tables ordered by ids grow at their end."""
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
