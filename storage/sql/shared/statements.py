"""What is said to the job engine's tables besides what it says itself, in its own terms: the state
of a job that is begun, and its functions."""

import json

from procrastinate.jobs import Job
from sqlalchemy import Connection, text

from storage.jobs import TakenJob
from storage.sql.prepared import Prepared

FETCH = """
    SELECT id, status, task_name, priority, lock, queueing_lock, args, scheduled_at, queue_name,
        attempts, worker_id, id IS NULL AND EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE status = 'todo' AND queue_name = ANY(%(queues)s::varchar[])
        ) AS waits
    FROM procrastinate_fetch_job_v2(%(queues)s::varchar[], %(worker_id)s)
"""
"""The next job, or NULLs, and whether others wait for one that is begun."""

_TAKE = Prepared(
    text("""
    INSERT INTO procrastinate_jobs
        (queue_name, task_name, lock, queueing_lock, args, status, worker_id)
    SELECT :queue, :task, CAST(:lock AS TEXT), CAST(:lock AS TEXT), CAST(:args AS JSONB), 'doing',
        id
    FROM procrastinate_workers
    WHERE id = :worker AND NOT EXISTS (
        SELECT FROM procrastinate_jobs
        WHERE queueing_lock = CAST(:lock AS TEXT) AND status = 'todo'
    )
    ON CONFLICT (lock) WHERE status = 'doing' DO NOTHING
    RETURNING id
    """)
)
"""As one that was fetched. Nobody is notified of it: the engine does that for those that wait."""

_FINISH = Prepared(
    text("""
    SELECT procrastinate_finish_job_v1(id, 'succeeded', true) FROM procrastinate_jobs
    WHERE id = :job AND worker_id = :worker AND status = 'doing'
    """)
)

_SIGN = Prepared(text("SELECT procrastinate_update_heartbeat_v1(:worker)"))


def take(connection: Connection, job: Job, session: int, worker: int) -> TakenJob | None:
    """Begin a job, unless one of its session waits or is begun. DBAPIError."""
    values = {
        "queue": job.queue,
        "task": job.task_name,
        "lock": job.lock,
        "args": json.dumps(job.task_kwargs),
        "worker": worker,
    }
    made: int | None = _TAKE.scalar(connection, values)
    return None if made is None else TakenJob(made, session, worker)


def finish(connection: Connection, job: int, worker: int) -> None:
    """End a job, whatever came of it. One that is another process's by now stays as it is."""
    _FINISH.later(connection, {"job": job, "worker": worker})


def sign(connection: Connection, worker: int) -> None:
    """Give a sign of life. DBAPIError."""
    _SIGN.later(connection, {"worker": worker})
