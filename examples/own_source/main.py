"""A source of your own beside the documents of the demo: python examples/own_source/main.py [QUESTION]."""

import asyncio
import sys

import contend

LETTERS = [
    {
        "title": "Offer of Havtrygg Insurance",
        "text": "Insuring the electric ferry Tern will cost 520,000 kroner a year. Havtrygg holds this offer until "
        "30 November 2026. The battery is covered while the ferry is moored and under way.",
        "url": "https://letters.lindvik.example/havtrygg-offer",
        "published_date": "2026-10-12",
    },
    {
        "title": "Letter of the harbour master",
        "text": "The quay of Lindvik has one place for a second ferry. Charging there needs a cable of 40 metres.",
        "url": "https://letters.lindvik.example/harbour-master",
        "published_date": "2026-09-28",
    },
]


@contend.source(name="letters", interval_seconds=0.5)
async def letters(query: str, limit: int) -> list[dict[str, str]]:
    """The letters with most words of the query; yours would ask a database, an intranet or a search service.

    `title`, `text` and `url` are required. It may be an ordinary function; what it raises turns it off for the run.
    """
    words = {word for word in query.lower().split() if word not in {"the", "will", "what"}}
    matches = {letter["url"]: sum(word in letter["text"].lower() for word in words) for letter in LETTERS}
    found = [letter for letter in LETTERS if matches[letter["url"]]]
    return sorted(found, key=lambda letter: -matches[letter["url"]])[:limit]


async def main(question: str = "What will insuring the electric ferry Tern cost?") -> None:
    options = contend.RunOptions(documents=["demo/documents"], depth="quick", learn=False)
    outcome = await contend.run(question, options=options, sources=["local", letters])
    print(outcome.markdown or outcome.message)


asyncio.run(main(*sys.argv[1:]))
