"""`contend doctor`: all checks, their table, the exit code."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli.checks import (
    Check,
    context_check,
    extra_checks,
    judges_check,
    model_check,
    prompts_check,
    source_checks,
    store_checks,
    workspace_check,
)
from contend.cli.probing import local_servers
from contend.cli.screen import advise, say, say_json, show
from contend.cli.words import counted, plain
from contend.errors import InputError, StoreError
from contend.services import Services
from contend.settings import Settings, load_settings

_STYLES = {"ok": "green", "off": "dim", "warning": "yellow", "fault": "bold red"}
_NOT_READY = 2


def show_checkup(*, workspace: Path | None, as_json: bool) -> int:
    """Print all checks; the exit code.

    Raises:
        InputError: an environment variable of contend's own is not usable.
    """
    checks = asyncio.run(_checks(load_settings(workspace=workspace)))
    faults = [check for check in checks if check.state == "fault"]
    if as_json:
        say_json({"ready": not faults, "checks": [check._asdict() for check in checks]})
    else:
        show(Group(_table(checks), ""))
        _advise(faults)
    return _NOT_READY if faults else 0


async def _checks(settings: Settings) -> list[Check]:
    checks = [workspace_check(settings)]
    try:
        services = await asyncio.to_thread(Services, settings)
    except InputError as error:
        return [*checks, Check("config", "fault", str(error), "see `contend config show` once it is mended")]
    servers = await local_servers()
    checks += [
        Check("config", "ok", f"{counted(len(services.config.teams), 'team')}: {', '.join(services.config.teams)}"),
        await asyncio.to_thread(prompts_check, services),
        await model_check(services, servers),
        *([await context_check(services), judges_check(services)] if settings.has_language_model else []),
        *await source_checks(services),
        *await store_checks(services),
        *extra_checks(servers),
    ]
    with suppress(StoreError):
        await services.aclose()
    return checks


def _table(checks: Sequence[Check]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        said = Text(plain(check.said))
        if check.remedy:
            said.append(f"\n→ {plain(check.remedy)}", style="cyan")
        table.add_row(Text(check.state, style=_STYLES[check.state]), check.name, said)
    return table


def _advise(faults: Sequence[Check]) -> None:
    if faults:
        say(f"Not ready: mend {', '.join(check.name for check in faults)}.")
        advise("contend doctor")
    else:
        say("Ready.")
        advise("contend run THEME --docs FOLDER")
