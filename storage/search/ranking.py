"""Few short texts, held against a query one by one: no index, and the best come first. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.search.query import Query, fold, parse, terms_of


@dataclass(frozen=True, slots=True)
class Ranked:
    places: tuple[int, ...]
    """Places of the texts that were found, the best first; equally good ones in their own order."""
    whole: bool
    """Each has all of the query's words. Where none has, those with most of them are found."""


def ranked(words: str, texts: Sequence[str]) -> Ranked:
    """The texts in which the words are, as a search over entries would find them (`query`); where
    no text has all of them, those that have some."""
    query = parse(words)
    if query is None:
        return Ranked((), whole=True)
    found = [(place, hits) for place, text in enumerate(texts) if (hits := _hits(query, text))]
    all_of_it = _parts(query)
    if whole := [place for place, hits in found if hits == all_of_it]:
        return Ranked(tuple(whole), whole=True)
    found.sort(key=lambda each: -each[1])
    return Ranked(tuple(place for place, _ in found), whole=False)


def _parts(query: Query) -> int:
    return len(query.terms) + bool(query.beginning) + len(query.runs)


def _hits(query: Query, text: str) -> int:
    """How much of the query a text has."""
    terms = terms_of(text)
    begins = bool(query.beginning) and any(term.startswith(query.beginning) for term in terms)
    folded = fold(text) if query.runs else ""
    return (
        sum(term in terms for term in query.terms)
        + begins
        + sum(run in folded for run in query.runs)
    )
