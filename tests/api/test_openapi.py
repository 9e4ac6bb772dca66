"""What the OpenAPI says of our routes holds for any request: no 5xx, nothing undocumented."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fakes.api_client import Api

OURS = "^/(research|leaderboard|standings|playbooks|health)"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.filterwarnings("ignore:Overriding standard format")  # schemathesis has formats of its own
def test_every_route_answers_any_request_as_it_says(api: Api) -> None:
    schema = schemathesis.openapi.from_url(f"{api.server.url}/openapi.json").include(path_regex=OURS)
    labels, faults = [], []

    for found in schema.get_all_operations():
        operation = found.ok()
        labels.append(operation.label)

        @given(case=operation.as_strategy())
        @settings(max_examples=8, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True, database=None)
        def try_case(case: schemathesis.Case) -> None:
            case.validate_response(case.call(timeout=100), checks=CHECKS)

        try:
            try_case()
        except FailureGroup as found_wrong:
            faults.append((operation.label, [f"{each.title}: {each.message}" for each in found_wrong.exceptions]))

    assert faults == []
    assert len(labels) == len(set(labels)) > 20
