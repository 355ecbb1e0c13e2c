"""The pieces that JSON Schemas are put together from."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

NUMBER: Schema = {"type": ["number", "null"]}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
FLAG: Schema = {"type": "boolean"}
INTERVAL: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}


def closed(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these properties, all of them but the `optional` ones, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(set(properties) - set(optional)),
        "additionalProperties": False,
    }


def many(items: Schema) -> Schema:
    """A list of such things."""
    return {"type": "array", "items": items}


def by_name(values: Schema) -> Schema:
    """An object with any names, all of whose values are such things."""
    return {"type": "object", "additionalProperties": values}


def or_null(schema: Schema) -> Schema:
    """Such a thing, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    """A definition of the same document."""
    return {"$ref": f"#/$defs/{name}"}


def described(schema: Schema, text: str) -> Schema:
    """A schema with a sentence about it."""
    return {**schema, "description": text}
