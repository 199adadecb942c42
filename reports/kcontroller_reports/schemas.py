"""The shapes of what is read (docs/formats.md) and of the tables that are written (docs/report.md).

What is read is explicit, so that no run can change the type of a column for the others. Free-form values (evidence, a
witness, a selector with options) are read as text: Spark keeps their JSON as it stands.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import ArrayType, BooleanType, LongType, MapType, StringType, StructField, StructType


def _fields(**types: object) -> list[StructField]:
    return [StructField(name, kind) for name, kind in types.items()]  # type: ignore[arg-type]


_TEXT: Final = StringType()
_NUMBER: Final = LongType()

#: What Spark could not read with the schema: null when all was well.
DAMAGED: Final = "_damaged"

RUN_JSON: Final = StructType(
    [
        *_fields(schema=_NUMBER, run=_TEXT),
        StructField("campaign", StructType(_fields(name=_TEXT, file=_TEXT, sha256=_TEXT))),
        *_fields(
            seed=_NUMBER,
            backend=_TEXT,
            selectors=MapType(_TEXT, _TEXT),
            assignment=_TEXT,
            kafka_compat=ArrayType(_TEXT),
            system=StructType(_fields(command=ArrayType(_TEXT), image=_TEXT)),
            mutant=_TEXT,
            noop_fault=_TEXT,
            plugin_versions=MapType(_TEXT, _TEXT),
            versions=MapType(_TEXT, _TEXT),
            host=MapType(_TEXT, _TEXT),
            commit=_TEXT,
            started=_TEXT,
            ended=_TEXT,
            verdict=_TEXT,
        ),
        StructField(DAMAGED, _TEXT),
    ]
)

#: The parts of a verdict, in their order.
PARTS: Final = ("injected", "operations", "observed", "invariants", "healed")
_PART: Final = StructType(_fields(verdict=_TEXT, detail=_TEXT, count=_NUMBER, of=_NUMBER))

VERDICTS_JSON: Final = StructType(
    [
        *_fields(
            schema=_NUMBER,
            overall=_TEXT,
            unexpected=_TEXT,
            ended=BooleanType(),
            overloaded=ArrayType(_TEXT),
            expected=ArrayType(_TEXT),
            notes=ArrayType(_TEXT),
        ),
        StructField("parts", StructType(_fields(**dict.fromkeys(PARTS, _PART)))),
        StructField(
            "faults",
            ArrayType(
                StructType(
                    _fields(
                        id=_TEXT,
                        kind=_TEXT,
                        mode=_TEXT,
                        target=_TEXT,
                        node=_TEXT,
                        asked_us=_NUMBER,
                        applied_us=_NUMBER,
                        observed_us=_NUMBER,
                        healed_us=_NUMBER,
                        evidence=_TEXT,
                        status=_TEXT,
                        why=_TEXT,
                    )
                )
            ),
        ),
        StructField(
            "invariants",
            ArrayType(
                StructType(
                    _fields(
                        name=_TEXT,
                        kind=_TEXT,
                        verdict=_TEXT,
                        checks=_NUMBER,
                        expected=_TEXT,
                        seen=_TEXT,
                        where=_TEXT,
                        witness=_TEXT,
                        began_us=_NUMBER,
                        known=_TEXT,
                    )
                )
            ),
        ),
        StructField(
            "elections",
            ArrayType(
                StructType(
                    _fields(
                        epoch=_NUMBER,
                        node=_NUMBER,
                        session=_TEXT,
                        zxid=_TEXT,
                        elected_us=_NUMBER,
                        failover_us=_NUMBER,
                    )
                )
            ),
        ),
        StructField(
            "recovery",
            ArrayType(
                StructType(
                    _fields(
                        fault=_TEXT,
                        kind=_TEXT,
                        mode=_TEXT,
                        start_us=_NUMBER,
                        effect_us=_NUMBER,
                        controller_us=_NUMBER,
                        published_us=_NUMBER,
                        answered_us=_NUMBER,
                        recovered=_TEXT,
                        recovery_us=_NUMBER,
                    )
                )
            ),
        ),
        StructField(DAMAGED, _TEXT),
    ]
)

# --- tables -----------------------------------------------------------------------------------------------------

#: Every table begins with these: which run a row belongs to, and what ran there (backend, mutant, selectors, commit ...):
#: figures of different setups are never one figure.
RUN_KEY: Final = StructType(_fields(campaign=_TEXT, seed=_NUMBER, run=_TEXT, directory=_TEXT, setup=_TEXT))

RUNS: Final = StructType(
    [
        *RUN_KEY.fields,
        *_fields(
            verdict=_TEXT,
            **dict.fromkeys(PARTS, _TEXT),
            **{f"{part}_{what}": _NUMBER for part in PARTS for what in ("count", "of")},
            notes=_TEXT,
            unfinished=BooleanType(),
            known=_TEXT,
            detail=_TEXT,
            damage=_TEXT,
            overloaded=_NUMBER,
            backend=_TEXT,
            zookeeper=_TEXT,
            kcontroller=_TEXT,
            python=_TEXT,
            java=_TEXT,
            cpus=_TEXT,
            system=_TEXT,
            selectors=_TEXT,
            assignment=_TEXT,
            kafka_release=_TEXT,
            kafka_compat=_TEXT,
            program=_TEXT,
            plugins=_TEXT,
            mutant=_TEXT,
            noop_fault=_TEXT,
            campaign_file=_TEXT,
            campaign_sha256=_TEXT,
            commit=_TEXT,
            started=_TEXT,
            ended=_TEXT,
            duration_us=_NUMBER,
        ),
    ]
)

FAULTS: Final = StructType(
    [
        *RUN_KEY.fields,
        *_fields(
            fault=_TEXT,
            kind=_TEXT,
            mode=_TEXT,
            target=_TEXT,
            node=_TEXT,
            status=_TEXT,
            why=_TEXT,
            asked_us=_NUMBER,
            applied_us=_NUMBER,
            observed_us=_NUMBER,
            healed_us=_NUMBER,
            evidence=_TEXT,
            start_us=_NUMBER,
            effect_us=_NUMBER,
            controller_us=_NUMBER,
            published_us=_NUMBER,
            answered_us=_NUMBER,
            recovered=_TEXT,
            recovery_us=_NUMBER,
        ),
    ]
)

ELECTIONS: Final = StructType(
    [
        *RUN_KEY.fields,
        *_fields(epoch=_NUMBER, node=_NUMBER, session=_TEXT, zxid=_TEXT, elected_us=_NUMBER, failover_us=_NUMBER),
    ]
)

INVARIANTS: Final = StructType(
    [
        *RUN_KEY.fields,
        *_fields(
            invariant=_TEXT,
            kind=_TEXT,
            verdict=_TEXT,
            checks=_NUMBER,
            expected=_TEXT,
            seen=_TEXT,
            where=_TEXT,
            witness=_TEXT,
            began_us=_NUMBER,
            known=_TEXT,
        ),
    ]
)
