"""What is left of imports that broke off is no conversation: it was known by its title alone."""

from alembic import op

revision = "0064_imports"
down_revision = "0062_job_locks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "UPDATE sessions SET kind = 'import' "
        "WHERE title = '[an import that did not come to its end]' "
        "AND kind = 'chat' AND leaf IS NULL AND parent_session IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM session_members WHERE session = sessions.id) "
        "AND NOT EXISTS (SELECT 1 FROM conversations WHERE session = sessions.id) "
        "AND NOT EXISTS (SELECT 1 FROM sessions AS below WHERE below.parent_session = sessions.id)"
    )
