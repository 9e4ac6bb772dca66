"""What tests of the graphs share: a contest of two plain teams, and what it is built from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contend.services import Services
from fakes.contests import Contest, write_workspace
from fakes.vendors import Vendors


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url)


@pytest.fixture
async def services(contest: Contest) -> AsyncIterator[Services]:
    services = contest.services()
    yield services
    await services.aclose()
