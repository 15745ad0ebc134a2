"""JSON Schemas of every event, made from the Structs, so that programs in any language can publish and read them.

`python -m mnemolog.schemas.jsonschema` writes the files in `schemas/json/`; each describes the whole CloudEvents object, one
file per event version. A file of an older version is never written again: it describes records that exist.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import orjson

from .envelope import DEFAULT_SOURCE, schema_uri
from .events import EVENTS, EventType
from .scope import MAX_ID
from .times import FIXED_FORM

__all__ = ["file_name", "read_schema", "render", "schema_of", "stale"]

_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
"""Not only white space, no control characters."""
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": _PATTERN}
_TIME = {"type": "string", "pattern": FIXED_FORM, "minLength": 27, "maxLength": 27}


def file_name(event_type: str, version: int) -> str:
    """`turn.recorded.v2.json`."""
    return f"{event_type}.v{version}.json"


def schema_of(event: EventType) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an event at its current version."""
    (data,), components = msgspec.json.schema_components([event.struct], ref_template="#/$defs/{name}")
    attributes: dict[str, Any] = {
        "specversion": {"const": "1.0"},
        "id": {**_NAME, "description": "Unique within (tenant, subject, source); a retry sends the same id again."},
        "source": {**_NAME, "default": DEFAULT_SOURCE},
        "type": {"const": event.name},
        "subject": {**_NAME, "description": "Whose memory it is, such as user:42; without the tenant."},
        "tenant": {**_NAME, "pattern": _PATTERN.replace("[^", "[^/")},
        "time": {**_TIME, "description": "When it happened, in UTC with microseconds."},
        "dataschema": {"const": schema_uri(event.name, event.version)},
        "datacontenttype": {"const": "application/json"},
        "recordedtime": {**_TIME, "description": "When it was appended; stamped by whoever appends."},
        "correlationid": _NAME,
        "causationid": _NAME,
        "keyid": {**_NAME, "description": "Reserved: the key that data is encrypted with."},
        "position": {
            "type": "string",
            "pattern": "^[0-9]{1,18}:[0-9]{1,18}:[0-9]{1,18}$",
            "description": "On derived records: epoch:partition:offset of the input that caused this one.",
        },
        "data": data,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_uri(event.name, event.version),
        "title": f"{event.name} v{event.version}",
        "description": f"A CloudEvents 1.0 object in structured JSON mode, on {event.topic}.",
        "type": "object",
        "required": ["data", "dataschema", "id", "source", "specversion", "subject", "tenant", "time", "type"],
        "properties": attributes,
        "$defs": components,
    }


def render(schema: dict[str, Any]) -> bytes:
    """The bytes of a schema's file: indented, in a fixed order, with a last newline."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_schema(event_type: str, version: int) -> dict[str, Any]:
    """The packaged schema of any version, current or older; raises FileNotFoundError where there is none."""
    schema: dict[str, Any] = orjson.loads(
        files("mnemolog.schemas").joinpath("json", file_name(event_type, version)).read_bytes()
    )
    return schema


def stale(folder: Path) -> list[Path]:
    """The files in `folder` that are missing or differ from what the Structs say now."""
    wanted = {folder / file_name(event.name, event.version): render(schema_of(event)) for event in EVENTS.values()}
    return [path for path, content in wanted.items() if not path.is_file() or path.read_bytes() != content]


def main() -> int:
    """Writes the stale files of the checkout and names them."""
    folder = Path(__file__).with_name("json")
    for path in stale(folder):
        event = next(e for e in EVENTS.values() if file_name(e.name, e.version) == path.name)
        path.write_bytes(render(schema_of(event)))
        sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
