"""The OpenAPI document is valid, and has every operation."""

from __future__ import annotations

from typing import Any, cast

from openapi_spec_validator import OpenAPIV31SpecValidator

from jbodlab.http_api.core.openapi import document
from jbodlab.http_api.core.operations import OPERATIONS

DOCUMENT: dict[str, Any] = document(OPERATIONS, "1.2.3")


def test_the_document_is_valid() -> None:
    assert list(OpenAPIV31SpecValidator(cast("Any", DOCUMENT)).iter_errors()) == []


def test_every_operation_is_in_it() -> None:
    described = {
        (method.upper(), path): operation["operationId"]
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
    }
    assert described == {(each.method, each.path): each.name for each in OPERATIONS}


def test_parts_of_paths_are_parameters() -> None:
    fail = DOCUMENT["paths"]["/brokers/{broker_id}/log-dirs/{number}/fail"]["post"]
    assert [(each["name"], each["schema"]["type"]) for each in fail["parameters"]] == [
        ("broker_id", "integer"),
        ("number", "integer"),
    ]
    assert fail["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/FailOrder"
    }
