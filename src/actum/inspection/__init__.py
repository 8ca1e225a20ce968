"""What can be known of an Idea or of a kept run without running anything, as typed values.

- `check(file)`: every problem of an Idea and of its local delegates, and what each provider would get: a `Check`.
- `settings_table()`: what each setting is called by each kind of provider.
- `forms(agent, context, schema)`, `schema_for(provider, …)`: the schema of a request as each provider takes it.
- `sizes(agent, context, schema)`: about how many tokens a first request has on each, part by part.
- `graph_of(context, solution)`: which call of a plan reads what from which: a `PlanGraph`.
- `price(context, toolset, limits)`: who carries its calls out, in how many steps and requests: a `Price`.
- `isolation(agent, context, tool)`: what a call would be given, and what not: an `Isolation`.
- `compare(old, new)`: the `Change` between two Ideas, or a `Comparison` of two kept runs.
- `account_of(run, name)`: what a kept run did, answer by answer and call by call: an `Account`.
- `why(run, reference)`: where a value of a kept run came from: its `Origin`s.
- `calls_of(run)`: what each call of a kept run came to: done, failed, unusable, unknown or not made.

Nothing here asks a model, makes a call or runs code: modules with Activities are read as they are written. Kept runs
themselves are in `actum.kept`.
"""

from ..ideas.library import Change
from ..protocol.provenance import Origin
from .account import Account, AnswerSeen, CallSeen, account_of
from .checking import Check, Problem, check
from .differences import Comparison, Entry, Row, compare
from .forms import PROVIDERS, Form, forms, schema_for, sizes
from .isolation import Hidden, Isolation, isolation
from .origins import calls_of, why
from .plan_graph import Edge, PlanGraph, Vertex, graph_of
from .pricing import Price, price
from .problems import settings_table
from .served import Serving

__all__ = [
    "PROVIDERS",
    "Account",
    "AnswerSeen",
    "CallSeen",
    "Change",
    "Check",
    "Comparison",
    "Edge",
    "Entry",
    "Form",
    "Hidden",
    "Isolation",
    "Origin",
    "PlanGraph",
    "Price",
    "Problem",
    "Row",
    "Serving",
    "Vertex",
    "account_of",
    "calls_of",
    "check",
    "compare",
    "forms",
    "graph_of",
    "isolation",
    "price",
    "schema_for",
    "settings_table",
    "sizes",
    "why",
]
