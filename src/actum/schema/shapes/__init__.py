"""The notation in which a model is told the shapes of results, and answers are asked for (T13): the one door to it.

    search_emails -> [Email]
    Email {id, sender, recipients: [text], cc?: [text], status: 'sent'|'draft', read: bool, timestamp?: time}
    get_prices -> {*: num}

A field without a type is a text; `num int bool time date any null` are types; `?` may be null or missing; `[T]` is a
list, `{*: T}` a map, `'a'|'b'` one of these texts; `…` is more that isn't told, `(…)` behind a field what its name
doesn't say. Odd keys stand in quotes.
"""

from .shape_reading import FORMATS, WORDS, schema_of_shape
from .shape_telling import MAP, UNKNOWN, Shapes, free_name, render_shapes

__all__ = ["FORMATS", "MAP", "UNKNOWN", "WORDS", "Shapes", "free_name", "render_shapes", "schema_of_shape"]
