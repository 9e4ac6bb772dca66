"""`contend verify`: whether a published report still holds."""

from collections import Counter
from pathlib import Path

from rich.text import Text

from contend.cli import speak, tr, ui
from contend.text import detect_language
from contend.verifying import State, read_ledger, verify

_LINES: dict[State, str] = {
    "holds": "holds: {statements}",
    "changed": "the document says something else now: {statements}",
    "gone": "the document is gone: {statements}",
    "broken": "the report itself was changed: {statements}",
}


def verify_report(file: Path) -> int:
    """Print how many statements of a report still hold, and which do not and why; 1 if there are any.

    Raises:
        InputError: the file is no report with statements.
    """
    report = read_ledger(file)
    speak(report.theme)
    checks = verify(report, detect_language(report.theme))
    counts = Counter(each.state for each in checks)
    if not ui.print_json(
        {"counts": {state: counts[state] for state in _LINES}, "statements": [each._asdict() for each in checks]}
    ):
        for each in checks:
            if each.state != "holds":
                ui.show(Text(f"{each.place}: {each.text}"))
                ui.show(Text("\n".join(f"  {reason}" for reason in each.reasons), style="dim"))
        for state, line in _LINES.items():
            if counts[state]:
                ui.show(Text(tr(line, statements=ui.counted(counts[state], "statement"))))
    return int(counts["holds"] < len(checks))
