# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema of an experiment file, generated from its models: for editors and checks.

It describes the keys and the format of each value. Only the loader checks what depends on other
values (conflicts, factors of the design) and the range of values with a unit.
"""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import SchemaError, SchemaSerializer, core_schema

from airtcp.experiment.experiment import Experiment
from airtcp.kernel.names import Names
from airtcp.parameters.jsonschema import HINT, NUMBER, PARAMETER, SCALAR, Json, words


class _Generator(GenerateJsonSchema):
    """pydantic's generator, adapted to a loader that reads scalars as text."""

    def generate(self, schema: Any, mode: Any = "validation") -> JsonSchemaValue:
        made = super().generate(schema, mode=mode)
        _finish(made)
        return {"$schema": self.schema_dialect, **made}

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return dict(SCALAR)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return dict(NUMBER)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return words(schema["expected"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """With the default as written in YAML; omitted for sections and lists."""
        made = super().default_schema(schema)
        made.pop("default", None)
        default = schema["default"]
        # An empty tuple may be a word in YAML: no capture points are `off`.
        if isinstance(default, BaseModel) or (default and isinstance(default, tuple)):
            return made
        try:
            plain = SchemaSerializer(schema["schema"]).to_python(default, mode="json")
        except SchemaError:  # a list of models
            return made
        return {**made, "default": plain} if isinstance(plain, str | int | float) else made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _finish(schema: object) -> None:
    """Resolve references to parameters; add allowed values that editors cannot list."""
    if isinstance(schema, list):
        for part in schema:
            _finish(part)
    if not isinstance(schema, dict):
        return
    if PARAMETER in schema:
        schema["$ref"] = f"#/$defs/Parameters/properties/{schema.pop(PARAMETER)}"
    if HINT in schema and "description" in schema and schema.keys() & {"anyOf", "pattern"}:
        schema["description"] += f". Allowed: {schema[HINT]}"
    for part in schema.values():
        _finish(part)


def schema(own: Names | None = None) -> Json:
    """The schema of a whole file; own: the names of --policy."""
    made = Experiment.model_json_schema(schema_generator=_Generator)
    for model in made["$defs"].values():
        for name, added in (own or {}).items():
            if described := model.get("properties", {}).get(name):
                described["enum"] = [*described["enum"], *added]
    return made


def text(own: Names | None = None) -> str:
    """The schema as the text of a file for editors."""
    return json.dumps(schema(own), indent=1) + "\n"
