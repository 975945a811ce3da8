# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema of an experiment's file, from the models that read it: for editors and checks.

It says what the keys are and how each value is written. What hangs on other values (conflicts,
factors of the design, what is out of range but has a unit) only the loader knows.
"""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import SchemaError, SchemaSerializer, core_schema

from airtcp.experiment.experiment import Experiment
from airtcp.parameters.jsonschema import HINT, NUMBER, PARAMETER, SCALAR, Json, words


class _Generator(GenerateJsonSchema):
    """pydantic's own, for a loader that takes the text of scalars."""

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
        """With the default as it stands in YAML; what is left out altogether has none."""
        made = super().default_schema(schema)
        made.pop("default", None)
        default = schema["default"]
        # An empty tuple may be a word in YAML, as no capture points are `off`.
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
    """Point to parameters, and add to descriptions what is allowed where an editor has no list."""
    if isinstance(schema, list):
        for one in schema:
            _finish(one)
    if not isinstance(schema, dict):
        return
    if PARAMETER in schema:
        schema["$ref"] = f"#/$defs/Parameters/properties/{schema.pop(PARAMETER)}"
    if HINT in schema and "description" in schema and schema.keys() & {"anyOf", "pattern"}:
        schema["description"] += f". Allowed: {schema[HINT]}"
    for one in schema.values():
        _finish(one)


def schema() -> Json:
    """Of everything that is in a file."""
    return Experiment.model_json_schema(schema_generator=_Generator)


def text() -> str:
    """As a file that an editor is told of."""
    return json.dumps(schema(), indent=1) + "\n"
