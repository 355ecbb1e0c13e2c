"""Files of settings alone -> one mapping: YAML (Hydra's and wandb's `config.yaml`) and JSON (`args.json`).

YAML is read by PyYAML's safe loader where it is installed (`pip install 'rollprof[yaml]'`) and not at all
otherwise: a reader of half of YAML would be wrong about the other half without noticing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rollprof.schema.ledger import Ledger
from rollprof.sources.lines import read_json
from rollprof.sources.opening import open_bytes
from rollprof.sources.records import SniffedFile
from rollprof.sources.redaction import without_secrets

LARGEST = 4 << 20
NEEDS_YAML = "settings in YAML, not read: pip install 'rollprof[yaml]'"


def read_settings(file: SniffedFile, ledger: Ledger) -> dict[str, Any]:
    """The settings of a file without secrets; empty where it cannot be read (the ledger says why)."""
    if file.kind in ("json_document", "json_lines"):
        for record in read_json(file, ledger):
            return without_secrets(record.data)
        return {}
    return without_secrets(_unwrapped(_yaml(file, ledger)))


def _unwrapped(found: Mapping[str, Any]) -> dict[str, Any]:
    """wandb writes `key: {desc: …, value: …}`, SwanLab `sort` besides."""
    return {
        key: value["value"] if isinstance(value, dict) and _is_wrapper(value) else value
        for key, value in found.items()
        if key not in ("wandb_version", "_wandb")
    }


def _is_wrapper(value: Mapping[str, Any]) -> bool:
    return "value" in value and value.keys() <= {"desc", "sort", "value"}


def _yaml(file: SniffedFile, ledger: Ledger) -> dict[str, Any]:
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        ledger.note(file.name, 0, NEEDS_YAML)
        return {}

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Plain values alone: an alias can make a small file as large as it likes."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("an alias")
            return super().compose_node(parent, index)

    with open_bytes(file.path, file.compression) as stream:
        data = stream.read(LARGEST)
    try:
        found = Loader(data).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        ledger.skip(file.name, 0, f"unreadable YAML: {(str(problem).splitlines() or ['damaged'])[0][:100]}")
        return {}
    ledger.ok(data.count(b"\n"))
    return {str(k): v for k, v in found.items()} if isinstance(found, dict) else {}
