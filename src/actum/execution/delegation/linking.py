"""Schemas that refer to other Ideas, closed over what they refer to before anything is composed (X4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import DelegateError, IdeaError
from ...protocol.context import Context, told
from ...protocol.declaration import parse_tool
from ...protocol.tool import Tool
from ...schema.gathering import linked, links_of
from ...schema.json import JsonObject
from .resolver import Resolver, SavedRequest


@dataclass(frozen=True, slots=True)
class Linking:
    """Closes the schemas of requests; within it an address is looked up once for each place that it is read from.

    It is found as a delegate of that address would be, and under the same rules: from outside, nothing local is.
    """

    resolve: Resolver
    most_depth: int
    _known: dict[tuple[str, str | None], JsonObject] = field(default_factory=dict[Any, JsonObject])

    async def __call__(self, request: SavedRequest) -> SavedRequest:
        """The same request, no schema of which refers to another Idea.

        Raises:
            IdeaError: naming the address that isn't there, has no schema, or the circle that it is part of.
        """
        if not has_links(request.context, request.schema):
            return request
        origin = request.context.origin
        messages = [await self.message(message, origin) for message in request.context]
        context = Context.checked(messages, request.context.data_kinds, origin)
        return replace(request, context=context, schema=await self.schema(request.schema, origin))

    async def message(self, message: JsonObject, origin: str | None) -> JsonObject:
        """One message, closed; raises as for a request."""
        if message.get("type") == "tool":
            tools: JsonObject = message["tool"]
            return {**message, "tool": {name: await self.schema(one, origin) for name, one in tools.items()}}
        if "schema" in message:
            return {**message, "schema": await self.schema(message["schema"], origin)}
        return message

    async def schema(self, schema: Any, origin: str | None) -> Any:
        """One schema, closed; raises as for a request."""
        return await self._closed(schema, origin, ())

    async def _closed(self, schema: Any, origin: str | None, chain: tuple[str, ...]) -> Any:
        addresses = links_of(schema)
        if not addresses:
            return schema
        return linked(schema, {address: await self._target(address, origin, chain) for address in addresses})

    async def _target(self, address: str, origin: str | None, chain: tuple[str, ...]) -> JsonObject:
        whole = (*chain, address)
        if address in chain:
            raise IdeaError(
                f"schemas refer to each other in a circle: {' → '.join(map(told, whole[chain.index(address) :]))}"
            )
        if len(chain) >= self.most_depth:
            raise IdeaError(
                f"schemas refer to each other deeper than {self.most_depth}: {' → '.join(map(told, whole))}"
            )
        key = (address, origin)
        if key not in self._known:
            found = await self._found(address, origin)
            schema: Any = found.schema
            if not isinstance(schema, dict):
                raise IdeaError(f'{{"$ref": "{told(address)}"}}: that Idea has no schema to refer to')
            self._known[key] = await self._closed(schema, found.context.origin, whole)
        return self._known[key]

    async def _found(self, address: str, origin: str | None) -> SavedRequest:
        reader: Tool = parse_tool({}, "$ref", origin=origin)
        try:
            return await self.resolve(address, reader)
        except DelegateError as error:
            raise IdeaError(f'{{"$ref": "{told(address)}"}}: {error.reason}') from error


def has_links(context: Context, schema: Any) -> bool:
    """Whether any schema of a request refers to another Idea."""
    tools = (message["tool"] for message in context if message.get("type") == "tool")
    schemas = (message["schema"] for message in context if "schema" in message)
    return any(links_of(one) for one in (*tools, *schemas, schema))
