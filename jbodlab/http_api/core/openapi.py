"""The OpenAPI 3.1 document of the HTTP API, made of its table of operations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from jbodlab.http_api.core.bodies import Mistake
from jbodlab.http_api.core.operations import Operation

_INTEGERS: Final = ("broker_id", "number")
"""Parts of paths that are numbers; all others are text."""
_REF: Final = "#/components/schemas/{name}"
_EVENTS: Final = "get_events"
_REFUSALS: Final = {
    "400": "What is asked cannot be",
    "401": "The token is missing or wrong",
    "403": "Asked by a page of another site, or under another name",
    "404": "There is no such broker, log dir, topic or fault",
    "409": "The cluster refuses it as things are",
    "413": "The body is too long",
    "415": "The body is not JSON",
    "503": "A node that is needed does not run or does not answer",
    "504": "Something did not happen before its deadline",
}


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """Return the document of these operations; ``version`` is that of jbodlab."""
    types = [Mistake, *(each.answer for each in operations)]
    types += [each.body for each in operations if each.body is not None]
    # Each once, in the order of the table.
    unique = list({str(each): each for each in types}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    schema_of = dict(zip(map(str, unique), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "jbodlab",
            "version": version,
            "summary": "A Kafka cluster made to have its disks broken.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation, schema_of: dict[str, dict[str, Any]]) -> dict[str, Any]:
    is_stream = operation.name == _EVENTS
    content_type = "text/event-stream" if is_stream else "application/json"
    answer = {"schema": schema_of[str(operation.answer)]}
    mistake = {"application/json": {"schema": schema_of[str(Mistake)]}}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation.path),
        "responses": {
            str(operation.status): {
                "description": "Each `data:` line is one event" if is_stream else "Done",
                "content": {content_type: answer},
            },
            **{
                status: {"description": why, "content": mistake}
                for status, why in _REFUSALS.items()
            },
        },
    }
    if operation.body is not None:
        schema = schema_of[str(operation.body)]
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if name in _INTEGERS else "string"},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]
