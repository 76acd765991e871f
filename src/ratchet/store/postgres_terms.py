"""Terms of a declared column in Postgres: each term of a row is a row of `TABLE_terms`.

`TABLE_spread` holds how many rows have each, since counting a common one's takes longer than all else of a search.
Triggers keep both in step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ratchet.ports import Where
from ratchet.records import Json
from ratchet.store.declaring import Table
from ratchet.store.rows import read_names
from ratchet.store.search import spread_of, terms_of, words_of
from ratchet.store.sql import POSTGRES, conditions


def create(table: Table) -> list[str]:
    name, counts, column = terms_of(table), spread_of(table), f'"{table.terms}"'
    moved = f"{name}_moved"

    def each(row: str) -> str:
        return f"SELECT DISTINCT unnest(string_to_array({row}.{column}, ' ')) AS term"

    body = f"""
    BEGIN
        IF TG_OP <> 'INSERT' AND OLD.{column} <> '' AND (TG_OP = 'DELETE' OR OLD.{column} IS DISTINCT FROM NEW.{column})
        THEN
            DELETE FROM "{name}" WHERE "row" = OLD."rowid_";
            UPDATE "{counts}" SET n = n - 1 WHERE term = '' OR term IN ({each("OLD")});
            DELETE FROM "{counts}" WHERE n < 1 AND (term = '' OR term IN ({each("OLD")}));
        END IF;
        IF TG_OP <> 'DELETE' AND NEW.{column} <> '' AND (TG_OP = 'INSERT' OR OLD.{column} IS DISTINCT FROM NEW.{column})
        THEN
            INSERT INTO "{name}" SELECT term, NEW."rowid_" FROM ({each("NEW")}) AS said;
            INSERT INTO "{counts}" SELECT term, 1 FROM (SELECT '' AS term UNION ALL {each("NEW")}) AS said
            ON CONFLICT (term) DO UPDATE SET n = "{counts}".n + 1;
        END IF;
        RETURN NULL;
    END"""
    each_row = f'FOR EACH ROW EXECUTE FUNCTION "{moved}"()'
    on = f'CREATE TRIGGER "{moved}" AFTER INSERT OR DELETE OR UPDATE ON "{table.name}" {each_row}'
    return [
        f'CREATE TABLE "{name}" (term text COLLATE "C" NOT NULL, "row" bigint NOT NULL, PRIMARY KEY (term, "row"))',
        f'CREATE INDEX "{name}_by_row" ON "{name}" ("row")',
        f'CREATE TABLE "{counts}" (term text COLLATE "C" PRIMARY KEY, n bigint NOT NULL)',
        f'CREATE FUNCTION "{moved}"() RETURNS trigger LANGUAGE plpgsql AS $moved${body}$moved$',
        on,
    ]


def words_index(table: Table) -> str:
    """The statement that indexes a table's words."""
    return f'CREATE INDEX "{words_of(table)}" ON "{table.name}" USING gin ({_listed(table)})'


def _listed(table: Table, prefix: str = "") -> str:
    return f"string_to_array({prefix}\"{table.words}\", ' ')"


def having(
    table: Table, words: Sequence[str], without: Sequence[str], where: Where | None, limit: int
) -> tuple[str, list[Json]]:
    """Rows that have all of these words and none of the others, those written last first."""
    said, values = conditions(table, where, POSTGRES, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    text = f'SELECT {columns} FROM "{table.name}" AS held WHERE {_listed(table, "held.")} @> %s::text[]'
    unwanted: list[Json] = [list(without)] if without else []
    if unwanted:
        text += f" AND NOT {_listed(table, 'held.')} && %s::text[]"
    if said:
        text += f" AND {said}"
    return f'{text} ORDER BY held."rowid_" DESC LIMIT %s', [list(words), *unwanted, *values, limit]


def weigh(table: Table, weights: Mapping[str, float], where: Where | None, limit: int) -> tuple[str, list[Json]]:
    """Rows by the sum of the weights of their terms, the highest first."""
    said, values = conditions(table, where, POSTGRES, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    text = (
        'WITH scored AS (SELECT said."row", sum(asked.weight) AS score '
        "FROM unnest(%s::text[], %s::float8[]) AS asked (term, weight) "
        f'JOIN "{terms_of(table)}" AS said ON said.term = asked.term GROUP BY said."row") '
        f'SELECT {columns} FROM scored JOIN "{table.name}" AS held ON held."rowid_" = scored."row"'
    )
    if said:
        text += f" WHERE {said}"
    asked: list[Json] = [list(weights), list(weights.values())]
    return f'{text} ORDER BY scored.score DESC, scored."row" LIMIT %s', [*asked, *values, limit]
