"""PostgreSQL: the search index has hashes of terms; what is worked off is vacuumed sooner.

Each row of the inbox and the outbox is changed a few times within seconds, and smaller then: by the
server's own setting, a fifth of the table would have to be dead before its room is used again.
"""

from alembic import op

revision = "0061_hashed"
down_revision = "0060_emptied"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("DROP INDEX ix_search_index_terms")
    # USING takes no query, but a function that has one.
    op.execute(
        "CREATE FUNCTION pg_temp.hashes(text[]) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$ "
        "SELECT coalesce(array_agg(('x' || encode(substr(sha256(convert_to(term, 'UTF8')), 1, 4), "
        "'hex'))::bit(32)::integer), '{}') FROM unnest($1) AS term $$"
    )
    op.execute(
        "ALTER TABLE search_index ALTER COLUMN terms TYPE integer[] USING pg_temp.hashes(terms)"
    )
    op.execute("DROP FUNCTION pg_temp.hashes(text[])")
    op.execute(
        "CREATE INDEX ix_search_index_terms ON search_index USING gin (terms) "
        "WITH (gin_pending_list_limit = 512)"
    )
    for table in ("inbox", "outbox"):
        op.execute(
            f"ALTER TABLE {table} SET "
            "(autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)"
        )
