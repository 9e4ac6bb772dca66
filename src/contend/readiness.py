"""What a run needs beside its input: a folder that takes its files, an endpoint that answers and has its models.

Looked at before anything starts, by runs and by `contend doctor` alike. Nothing is written or spent.
"""

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from contend.errors import InputError
from contend.llm import CONTEXT_REMEDY, LEAST_CONTEXT_TOKENS, ModelContext
from contend.llm.endpoint import Endpoint, NoAnswer, SlowAnswer
from contend.llm.listing import missing_models
from contend.llm.models import LanguageModels
from contend.models.options import ResolvedOptions, Role, TeamConfig
from contend.services import Services
from contend.text import shorten

LEAST_FREE_BYTES = 20_000_000
"""Several times what a run of five teams writes."""

_TEAM_ROLES: frozenset[Role] = frozenset({"supervisor", "writer", "reviewer", "judge"})
_ROLES_BESIDE_GRAPH: frozenset[Role] = frozenset({"reviewer", "judge"})
"""A graph of somebody else's plans and writes itself."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_MOST_MODELS = 5


class NotReady(InputError):  # noqa: N818 - named by what the caller meets
    """What a run lacks, and the remedy."""

    def __init__(self, lack: str, remedy: str) -> None:
        super().__init__(f"{lack}: {remedy}")
        self.lack = lack
        self.remedy = remedy


async def check_ready(services: Services, options: ResolvedOptions, teams: Sequence[TeamConfig]) -> list[str]:
    """Whether a run can do its work here, in about a second; warnings, a line each.

    Raises:
        NotReady: the workspace cannot be written, or the endpoint cannot be used or lacks a model.
        StoreError: the record cannot be read whole.
    """
    await asyncio.to_thread(check_folder, services.folder, "workspace")
    await services.record.check()
    file = services.settings.record
    if file is not None and services.settings.locate(str(file)).is_dir():
        raise NotReady(f"CONTEND_RECORD {file} is a folder", "name a file")
    # A run goes on as it began: from recorded replies, or from a model's.
    if options.recorded and services.models.recording is None:
        recording = f"{options.recorded.recorded_on} (model {options.recorded.model})"
        raise NotReady(f"the run plays replies recorded on {recording}", "set CONTEND_REPLAY to that recording")
    if services.models.recording and not options.recorded:
        raise NotReady("the run began with a model's own replies", "leave CONTEND_REPLAY out")
    return [] if services.models.recording else await check_models(services.models, models_of_run(options, teams))


def check_folder(folder: Path, name: str) -> None:
    """Whether files can be written in a folder, or in the nearest one above it; leaves nothing there.

    Raises:
        NotReady: it is a file, cannot be written, or has too little space; begins with `name`.
    """
    there = folder
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir():
            raise NotReady(f"{name} {folder}: {there} is a file", "name a folder")
        with TemporaryFile(dir=there) as probe:
            _check_space(probe.fileno(), there, name)
    except OSError as error:
        lack = f"{name} {there} cannot be written ({error.strerror or error})"
        raise NotReady(lack, "mend its rights, or name another") from error


def _check_space(file: int, folder: Path, name: str) -> None:
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, LEAST_FREE_BYTES)
    except OSError as error:
        if error.errno in _FULL:
            least = f"{LEAST_FREE_BYTES / 1e6:.0f} MB"
            raise NotReady(f"{name} {folder} has no {least} left ({error.strerror})", "free disk space") from error


def models_of_run(options: ResolvedOptions, teams: Sequence[TeamConfig]) -> list[str]:
    """The names of the language models that a run may call, each once."""
    if not options.models:
        return []
    names = {metric.model for metric in options.evaluator.metrics if metric.model}
    names |= {name for role, name in options.models.items() if role not in _TEAM_ROLES}
    for team in teams:
        roles = _ROLES_BESIDE_GRAPH if team.kind == "graph" else _TEAM_ROLES
        names |= {team.models.get(role, options.models[role]) for role in roles}
    return sorted(names)


async def check_models(models: LanguageModels, names: Sequence[str]) -> list[str]:
    """Whether the endpoints answer and have the models; warnings, a line each, where they do not tell.

    Raises:
        InputError: an address or key cannot be one.
        NotReady: an endpoint does not answer, refuses the key, or lists models without one that is wanted.
    """
    if homeless := [name for name in names if models.lack(name)]:
        lack = f"no OPENAI_API_KEY or OPENAI_BASE_URL is set, and the run would ask {_some(homeless)}"
        raise NotReady(lack, "set one, or name no model for a search of your documents")
    checks = (_check_endpoint(endpoint, list(there.values())) for endpoint, there in models.by_endpoint(names))
    return [warning for warnings in await asyncio.gather(*checks) for warning in warnings]


def check_contexts(contexts: Mapping[str, ModelContext]) -> None:
    """Whether each model reads enough for a run.

    Raises:
        NotReady: one reads under 16,000 tokens; names it, and what to set.
    """
    name, context = min(contexts.items(), key=lambda each: each[1].tokens, default=("", None))
    if context is not None and context.tokens < LEAST_CONTEXT_TOKENS:
        lack = f"model {name!r} has a context of {context.tokens:,} tokens ({context.origin})"
        raise NotReady(lack, CONTEXT_REMEDY)


async def _check_endpoint(endpoint: Endpoint, models: Sequence[str]) -> list[str]:
    address = endpoint.address
    try:
        names = await endpoint.models(models)
    except SlowAnswer as why:
        return [f"endpoint {address} {why}: it may be busy, or load a model"]
    except NoAnswer as why:
        remedy = f"{why.remedy or endpoint.remedy}, or give --team search to do without"
        raise NotReady(f"endpoint {address} {why}", remedy) from None
    if missing := missing_models(models, names):
        remedy = "give --model NAME, or set `default` in the workspace's config/models.toml"
        raise NotReady(f"endpoint {address} has {_some(names)}, not {', '.join(missing)}", remedy)
    if not set(models) & set(names) and len(names) <= 1:
        return [f"endpoint {address} lists {_some(names) or 'no models'}: whether it has {_some(models)} is not known"]
    return []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_MODELS} more" if len(names) > _MOST_MODELS else ""
    return ", ".join(shorten(name, 80) for name in names[:_MOST_MODELS]) + more
