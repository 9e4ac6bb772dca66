"""Write `examples/notebook/contest.ipynb`: its cells stand here, and its output is what they print now.

`make sample` runs it. No kernel is needed: the cells run in this process, as a notebook runs them.
"""

import ast
import asyncio
import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "notebook" / "contest.ipynb"


class Cell(NamedTuple):
    """Text, or code."""

    kind: str
    source: str


CELLS = (
    Cell(
        "markdown",
        """# A contest, step by step

Three teams answer one question about a small ferry company, in two rounds; judges score each round, and an editor
merges the best parts. The models' replies are recorded, so this notebook needs no key and spends nothing. To ask your
own model, leave `replay` out and set `OPENAI_API_KEY`.""",
    ),
    Cell(
        "code",
        """import json
import tempfile
from pathlib import Path

import contend

demo = Path("../../demo")
question = (demo / "question.txt").read_text("utf-8").strip()
settings = contend.load_settings(workspace=Path(tempfile.mkdtemp()), replay=demo / "recording.jsonl")
print(question)""",
    ),
    Cell(
        "code",
        """options = contend.RunOptions(
    documents=[str(demo / "documents")],
    sources=["local"],
    teams=["archivist", "skeptic", "scout"],
    depth="standard",
    max_rounds=2,
    length="brief",
    language="en",
)
events = []
outcome = await contend.run(question, options=options, settings=settings, on_event=events.append)
outcome.status""",
    ),
    Cell(
        "markdown",
        "## Scores by round\n\nJudges do not know the teams. What they name, a team mends in its next round.",
    ),
    Cell(
        "code",
        """def show(name: str, played: str, score: float) -> None:
    print(f"{name:10} {played:8} {100 * score:5.1f} {'█' * round(score * 60)}")


rounds = [event for event in events if event.type == "round_scored"]
for each in sorted(rounds, key=lambda event: (event.team_id, event.round_number)):
    show(each.team_id, f"round {each.round_number}", each.score)
show(outcome.summary.published, "merge", outcome.summary.published_score)""",
    ),
    Cell("markdown", "## The report begins"),
    Cell(
        "code",
        """print(outcome.markdown.partition("## Detailed Analysis")[0])""",
    ),
    Cell(
        "markdown",
        "## What a statement rests on\n\n`report.json` has each statement with its quotes, sums and checks.",
    ),
    Cell(
        "code",
        """(ledger,) = [json.loads(Path(file).read_text("utf-8")) for file in outcome.files if file.endswith(".json")]
statement = next(each for each in ledger["statements"] if each["sums"] and each["quotes"])
print(statement["text"])
for line in statement["sums"]:
    print("  sum  ", line)
for line in statement["quotes"]:
    print("  quote", line)
print("  found by", ", ".join(sorted(statement["found_by"])))""",
    ),
)

Output = dict[str, Any]


async def run_cells(sources: Sequence[str]) -> list[list[Output]]:
    """The outputs of cells of code, run one after the other; `await` may stand in them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [await _outputs(source, names, number) for number, source in enumerate(sources, start=1)]


async def _outputs(source: str, names: dict[str, Any], number: int) -> list[Output]:
    """What the cell prints, and what its last expression gives."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        await _evaluate(ast.Module(body, []), "exec", names)
        value = await _evaluate(last, "eval", names) if last else None
    result = {"data": {"text/plain": [repr(value)]}, "execution_count": number, "metadata": {}}
    outputs: list[Output] = [{"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}]
    outputs += [{"output_type": "execute_result", **result}]
    return [each for each, is_there in zip(outputs, (printed.getvalue(), value is not None), strict=True) if is_there]


async def _evaluate(code: ast.AST, mode: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever a cell gives
    compiled = compile(code, "cell", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # type: ignore[arg-type]
    value = eval(compiled, names)  # noqa: S307 - the cells of this file
    return await value if inspect.iscoroutine(value) else value


def _lines(text: str) -> list[str]:
    """As notebooks keep text: lines with their ends."""
    return text.splitlines(keepends=True)


def written(outputs: Sequence[list[Output]]) -> str:
    """The notebook with these outputs of its cells of code."""
    remaining = iter(enumerate(outputs, start=1))
    cells = [_cell(cell, number, remaining) for number, cell in enumerate(CELLS, start=1)]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _cell(cell: Cell, number: int, outputs: Iterator[tuple[int, list[Output]]]) -> dict[str, Any]:
    entry = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}, "source": _lines(cell.source)}
    if cell.kind == "markdown":
        return entry
    count, shown = next(outputs)
    return {**entry, "execution_count": count, "outputs": shown}


def main() -> None:
    with chdir(NOTEBOOK.parent):
        outputs = asyncio.run(run_cells([cell.source for cell in CELLS if cell.kind == "code"]))
    NOTEBOOK.write_text(written(outputs), "utf-8")
    print(f"{NOTEBOOK.relative_to(ROOT)}: {NOTEBOOK.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
