"""`contend verify`: whether a published report still holds."""

from pathlib import Path

from rich.text import Text

from contend.cli import speak, tr, ui
from contend.text import detect_language
from contend.verifying import State, counts, read_ledger, verify

_WORDS: dict[State, str] = {
    "holds": "{count} statements hold",
    "changed": "{count} whose documents say something else now",
    "gone": "{count} whose documents are gone",
    "broken": "{count} that are not as they were published",
}


def verify_report(file: Path) -> int:
    """Print which statements of a report do not hold any more, and why; 1 if there are any.

    Raises:
        InputError: the file is no report with statements.
    """
    report = read_ledger(file)
    speak(report.theme)
    checks = verify(report, detect_language(report.theme))
    number, lost = counts(checks), [each for each in checks if each.state != "holds"]
    if not ui.print_json(
        {"counts": {state: number[state] for state in _WORDS}, "statements": [each._asdict() for each in checks]}
    ):
        for each in lost:
            ui.show(Text(f"{each.place}: {each.text}"))
            for reason in each.reasons:
                ui.show(Text(f"  {reason}", style="dim"))
        ui.show(Text("; ".join(tr(words, count=number[state]) for state, words in _WORDS.items() if number[state])))
    return int(bool(lost))
