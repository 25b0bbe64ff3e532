"""Writes random schemas with random values and the verdicts of jsonschema, in the form of the official suite.

`python3 -m schemas FILE COUNT [SEED]`. The seed is the same in each run unless it is given.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from jsonschema import Draft202012Validator

NAMES = ["a", "b", "ä", "a/b", "~"]
TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
PATTERNS = ["^a", "b$", "^[ab]*$", "a|ä", "^.{2,3}$", "(ab)+", "[^a]", r"\d"]


def value(chance: random.Random, depth: int = 3) -> Any:
    """A random value, small so that equal ones are frequent."""
    kind = chance.randrange(7 if depth else 5)
    if kind == 5:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 6:
        return {chance.choice(NAMES): value(chance, depth - 1) for _ in range(chance.randrange(4))}
    scalars = [None, chance.random() < 0.5, chance.randint(-3, 9), chance.randint(-8, 8) / 4]
    return scalars[kind] if kind < 4 else "".join(chance.choice("abä1") for _ in range(chance.randrange(4)))


def schema(chance: random.Random, depth: int = 3) -> Any:
    """A random schema of the subset that chatterd checks."""
    if depth == 0 or chance.random() < 0.05:
        return chance.choice([True, True, False])

    def part() -> Any:
        return schema(chance, depth - 1)

    def parts() -> list[Any]:
        return [part() for _ in range(chance.randint(1, 3))]

    def named() -> dict[str, Any]:
        return {chance.choice(NAMES): part() for _ in range(chance.randint(1, 3))}

    def count() -> int:
        return chance.randrange(4)

    def names() -> list[str]:
        return chance.sample(NAMES, count())

    keywords = {
        "type": lambda: chance.choice([chance.choice(TYPES), chance.sample(TYPES, 3)]),
        "enum": lambda: [value(chance, 1) for _ in range(3)],
        "const": lambda: value(chance, 1),
        "minimum": lambda: chance.randint(-2, 4), "maximum": lambda: chance.randint(0, 6) / 4,
        "exclusiveMinimum": count, "exclusiveMaximum": count, "multipleOf": lambda: chance.choice([0.25, 0.5, 2, 3]),
        "minLength": count, "maxLength": count, "pattern": lambda: chance.choice(PATTERNS),
        "minItems": count, "maxItems": count, "uniqueItems": lambda: True, "items": part, "prefixItems": parts,
        "contains": part, "minContains": count, "maxContains": count,
        "properties": named, "required": names, "additionalProperties": part, "propertyNames": part,
        "patternProperties": lambda: {chance.choice(PATTERNS): part()},
        "minProperties": count, "maxProperties": count, "dependentRequired": lambda: {chance.choice(NAMES): names()},
        "dependentSchemas": named, "anyOf": parts, "allOf": parts, "oneOf": parts, "not": part, "if": part,
        "then": part, "else": part, "$ref": lambda: chance.choice(["#/$defs/x", "#/$defs/y"]),
    }
    return {name: keywords[name]() for name in chance.sample(list(keywords), chance.randint(1, 4))}


def group(chance: random.Random) -> dict[str, Any]:
    whole = schema(chance)
    if isinstance(whole, dict):
        # References to these two only, and none from them, so that no schema applies without end.
        plain = [{"type": "string", "maxLength": 2}, {"items": {"type": "integer"}, "required": ["a"]}]
        whole["$defs"] = dict(zip("xy", plain))
    validator = Draft202012Validator(whole)
    values = [value(chance) for _ in range(12)]
    tests = [{"description": json.dumps(one), "data": one, "valid": validator.is_valid(one)} for one in values]
    return {"description": json.dumps(whole), "schema": whole, "tests": tests}


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20261130
    print(f"random schemas: seed {seed}")
    chance = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        json.dump([group(chance) for _ in range(count)], file)


if __name__ == "__main__":
    main()
