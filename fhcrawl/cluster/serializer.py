"""Requests as JSON: unlike pickle, data from Redis cannot make a worker run code."""

from __future__ import annotations

import json
from typing import Any


def dumps(request: dict[str, Any]) -> str:
    """Serialise the result of `Request.to_dict` to one line."""
    headers = {name.decode("latin-1"): _decoded(values) for name, values in request["headers"].items()}
    return json.dumps({**request, "headers": headers, "body": request["body"].decode("latin-1")})


def loads(line: str) -> dict[str, Any]:
    """Parse a line to the argument of `request_from_dict`."""
    request: dict[str, Any] = json.loads(line)
    headers = {name.encode("latin-1"): _encoded(values) for name, values in request["headers"].items()}
    return {**request, "headers": headers, "body": request["body"].encode("latin-1")}


def _decoded(values: list[bytes]) -> list[str]:
    return [value.decode("latin-1") for value in values]


def _encoded(values: list[str]) -> list[bytes]:
    return [value.encode("latin-1") for value in values]
