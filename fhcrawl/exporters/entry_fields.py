"""The fields of exported entries, among them those that a user's pipelines have added."""

from __future__ import annotations

from typing import Any

# The fields that are times: ISO 8601 in UTC, with all digits that the feed has.
TIMES = ("published", "updated", "document_updated")


def with_all_fields(item: Any, fields: Any) -> Any:
    """Return an entry with all fields that are exported, in their order; another item as it is.

    :param item: an entry is a plain dictionary; those that pipelines have added no fields to lack them
    :param fields: the exporter's `fields_to_export`
    """
    if type(item) is not dict or not isinstance(fields, list) or fields == list(item):
        return item
    return {name: item.get(name) for name in fields}
