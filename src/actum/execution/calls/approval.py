"""Holding a call for a decision before it runs: approve, deny, modify (L6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from ...dataflow.expression import MISSING
from ...dataflow.node import Node
from ...errors import ApprovalDenied, InvalidParameters, UnresolvedReference
from ...protocol.activity import function_text
from ...protocol.approvals import Asked, Decision, approval, with_else
from ...protocol.call import Call
from ...protocol.context import Context
from ...protocol.elsewhere import is_elsewhere
from ...protocol.tool import Tool
from ...schema.json import JsonObject, encode
from ..approver import decide
from ..emitter import ask_in_span
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Carry, Held, Job
from ..record.journal import check_written
from .admission import admit
from .attempts import authored_digest
from .filling import resolve_call


class Approvals:
    """What was decided of the calls of one run, and the approver who is asked about the others (L6)."""

    def __init__(self, ground: Ground, delegate: Delegate) -> None:
        self._ground = ground
        self._delegate = delegate
        self.approve = ground.runtime.approve

    def decision(self, job: Job) -> Decision | None:
        """What was decided of a call, before this run or in it."""
        decisions = self._ground.journal.decisions
        if not decisions.by_place:
            return None
        decision = decisions.find(job.of, job.call)
        if decision is None and job.parent is not None:  # a plan that was judged as a whole, its items unseen
            whole = decisions.find(job.parent.of, job.parent.call)
            if whole is not None and (whole.ruling == "deny" or (whole.ruling == "approve" and whole.shown is None)):
                return replace(whole, replacement=None)
        return decision

    def is_about(self, job: Job) -> bool:
        """Whether a call is decided on before it runs."""
        return self.approve is not None or job.tool.is_held or self.decision(job) is not None

    def must_wait(self, job: Job) -> bool:
        """Whether a call is held and nobody is there to decide on it."""
        decision = self.decision(job)
        return decision is not None and decision.ruling == "held" and self.approve is None

    async def allowed_call(self, job: Job, call: Call, context: Context) -> Call | None:
        """The call that may run: as it was decided before, else as the approver says; None where it has to wait.

        Raises:
            ApprovalDenied: with the reason.
        """
        decision = self.decision(job)
        if decision is not None and decision.ruling == "deny":
            raise ApprovalDenied(decision.reason or "denied", tool=job.tool.name)
        approved = decision if decision is not None and decision.ruling == "approve" else None
        is_of = approved is not None and approved.is_of(await self.seal(job.tool, call))
        if approved is not None and is_of and (approved.replacement or approved.holds_for(call, context)):
            job.approval = approved
            # What replaces a call is in its plan; what replaces one for an item comes now that its values are there.
            return call if job.parent is None or approved.replacement is None else Call(approved.replacement)
        if is_elsewhere(job.tool):
            return None  # who makes it decides on it, too
        if self.approve is not None:
            asking = decide(self.approve, self._ground.budget.threads, _question(job, call), job.tool, context)
            answer = await (asking if job.span is None else ask_in_span(job, call, asking, self._ground.emit))
            if answer is not None:
                replacement = None if answer == call else dict(answer)
                job.approval = Decision(call=dict(call), ruling="approve", replacement=replacement)
            return answer
        if job.tool.is_held:
            return None
        return call if approved is None else None  # other values than those that were approved are asked about again

    async def seal(self, tool: Tool, call: Call) -> str:
        """What would carry a call out, by digests: how its tool is told, its code, its delegate, as far as it is known.

        An approval holds for nothing else. In a replay the record stands for all that.
        """
        registry = self._ground.toolset.registry
        if tool.seal or self._ground.runtime.ring is not None or registry is None:
            return tool.seal
        serving = registry.serving(tool, str(call.get("_delegate", "")) or None)
        code = "" if serving is None else function_text(serving.of(call).function)
        delegate = await self._delegate.digest(call, tool) if serving is None and tool.is_delegated else ""
        parts = (encode([tool.name, tool.schema], sort_keys=True), code, delegate)
        return ".".join(part and sha256(part.encode(errors="replace")).hexdigest()[:16] for part in parts)

    def hold(self, job: Job, shown: JsonObject | None) -> None:
        """Note that a call waits for a decision; `shown` is what it is about, None where that is known already."""
        decision = self.decision(job)
        if shown is not None:
            shown = _question(job, Call.of(shown["call"])).shown(shown["context"], shown["tool"])
        if shown is not None and (decision is None or (decision.ruling, decision.shown) != ("held", shown)):
            wants = "result" if is_elsewhere(job.tool) else ""
            self._ground.journal.add(
                approval(job.of, job.call, "held", shown=shown, takes=job.tool.parameters, wants=wants)
            )
        job.hold()

    def replace(self, job: Job, replacement: Call) -> Sequence[Any]:
        """Let another call run in the place of the planned one, and record that; return what it refers to (L6).

        Raises:
            CallError: the other call is not one that can run here.
        """
        reader, known = job.head.node, self._ground.graph.known
        node = Node(-1, reader.answer, reader.index)
        changed = admit(with_else(replacement, job.call), self._ground, node, job.script)
        instance = changed.node.instance
        values = [known.evaluate(expr, reader.answer, instance, reader) for expr in changed.node.expressions]
        if any(value is MISSING for value in values):
            raise UnresolvedReference(
                "what was approved in its place refers to what doesn't exist", tool=changed.tool.name
            )
        decision = self.decision(job)
        if decision is None or decision.replacement != changed.call:
            self._ground.journal.add(approval(job.of, job.call, "approve", replacement=changed.call))
        authored_digest(job, self._ground.jobs)  # before it is another: a corrected answer repeats what was planned
        if changed.node.instance != job.node.instance:
            self._ground.graph.withdraw(job.node)  # nobody waits any more for what it would have written there
        _replace_call(job, changed)
        return values


def with_approval(ground: Ground, approvals: Approvals, carry: Carry) -> Carry:
    """Holds calls until they are decided on; what was approved in the place of one is made instead (L6)."""

    async def carry_approved(job: Job, call: Call) -> Carried:
        context = job.crossing or ground.journal.nothing
        approved = await approvals.allowed_call(job, call, context)
        if approved is None:
            check_written(call, tool=job.tool.name)
            shown = {"call": dict(call), "context": list(context), "tool": await approvals.seal(job.tool, call)}
            return Held((f"approval {job.of}",), shown)
        if approved != call:
            before = (job.scopes, job.node.instance)
            call = resolve_call(job, approvals.replace(job, approved), ground.budget)
            if before != (job.scopes, job.node.instance):  # else exactly what was approved crosses
                job.crossing = ground.context_for(job) if job.scopes else None
        return await carry(job, call)

    return carry_approved


def _question(job: Job, call: Call) -> Asked:
    """A call with its values as an approver is asked about it; one for an item was authored for all of them."""
    return Asked.about(call, (job.parent or job).call, job.derived)


def _replace_call(job: Job, changed: Job) -> None:
    if changed.batch is not None:
        raise InvalidParameters("a call for every item can't take the place of one", tool=changed.tool.name)
    job.is_edited = True
    job.call, job.tool, job.template, job.is_final = changed.call, changed.tool, changed.template, changed.is_final
    job.computes, job.optional = changed.computes, changed.optional
    job.scopes, job.is_latent, job.node.instance = changed.scopes, changed.is_latent, changed.node.instance
    if job.parent is None:
        job.path, job.method, job.otherwise = changed.path, changed.method, changed.otherwise
