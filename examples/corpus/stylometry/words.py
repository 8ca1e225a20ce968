"""What a text is made of: words, sentences, syllables. Good enough for prose in alphabetic scripts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_])|\n\s*\n")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Prof|Rev|Capt|Col|Gen|Hon|vs|viz|[A-Z])\.$")
_VOWELS = re.compile(r"[aeiouyà-öø-ÿ]+")


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case and in order."""
    return _WORD.findall(_plain(text).lower())


def spellings_of(text: str) -> dict[str, str]:
    """How each word of a text is mostly written: names keep their capital letter."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word in _WORD.findall(_plain(text)):
        forms[word.lower()][word] += 1
    return {word: min(counts, key=lambda form: (-counts[form], form)) for word, counts in forms.items()}


def sentences_of(text: str) -> list[list[str]]:
    """The sentences of a text as lists of words; the full stop of a title ("Mr.") or an initial ends none."""
    sentences: list[list[str]] = []
    start = 0
    for end in _END.finditer(text):
        blank = "\n" in end.group() and not end.group().strip() and end.group().count("\n") > 1
        if not blank and _TITLE.search(text, start, end.start()):
            continue
        sentences.append(words_of(text[start : end.start()]))
        start = end.end()
    sentences.append(words_of(text[start:]))
    return [sentence for sentence in sentences if sentence]


def syllables_of(word: str) -> int:
    """How many syllables an English word has: near enough for an index of readability."""
    count = len(_VOWELS.findall(word))
    silent = word.endswith("e") and not word.endswith("le") and count > 1
    return max(1, count - silent)


def _plain(text: str) -> str:
    return text.replace("’", "'")
