"""What the OpenAPI says of our routes holds for any request: no 5xx, nothing undocumented."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fakes.api_client import Api

OURS = "^/(research|leaderboard|playbooks|health)"
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture
def schema(api: Api) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{api.server.url}/openapi.json").include(path_regex=OURS)


fuzzed = schemathesis.pytest.from_fixture("schema")


@fuzzed.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True)
def test_every_route_answers_any_request_as_it_says(case: schemathesis.Case) -> None:
    response: Response = case.call(timeout=20)

    case.validate_response(response, checks=[*CHECKS])
