"""In PostgreSQL, an index by which the job engine finds the other jobs of a lock.

Its own index begins with the job's id. A queue is empty most of the time, and whoever counts its
rows then has a fetch read all of the queue for each job that waits: 14 ms instead of 1, with 200.
"""

from alembic import op

revision = "0062_job_locks"
down_revision = "0061_hashed"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX ix_procrastinate_jobs_lock ON procrastinate_jobs (lock) "
            "WHERE status IN ('todo', 'doing')"
        )
