"""The rounds that a team has played, as its state and its research know them: by the id of each round's record."""

from collections.abc import Sequence
from typing import Any

from contend.models.round import Round
from contend.run_context import RunContext


async def keep_round(run: RunContext, played: Round) -> dict[str, Any]:
    """Keep a round's record; gives its id, beside what one wants to see of it in a state.

    Raises:
        StoreError: it cannot be written.
    """
    document = await run.rounds.put(played)
    return {"document": document, "round_number": played.round_number, "score": played.score}


async def rounds_of(run: RunContext, references: Sequence[Any]) -> list[Round]:
    """The records.

    Raises:
        StoreError: one cannot be read.
    """
    return [await run.rounds.get(each["document"]) for each in references]
