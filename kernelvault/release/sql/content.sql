-- What a release says, apart from when and on which host it was found out.
SELECT 'sample' AS kind, candidate_id AS id, preset || ' ' || coalesce(tier, '') AS says
FROM released_samples
UNION ALL
SELECT 'problem', problem_id, ''
FROM problems
UNION ALL
SELECT 'workload', workload_id, ''
FROM workloads
UNION ALL
SELECT 'candidate', candidate_id, ''
FROM candidates
UNION ALL
SELECT 'attempt', attempt_id, status || ' ' || coalesce(candidate_id, '')
FROM attempts
UNION ALL
SELECT
    'verification',
    verification_id,
    list_aggregate(
        list_transform(verdicts, lambda v: v.gate || ' ' || v.outcome), 'string_agg', ', '
    )
FROM verifications
UNION ALL
SELECT 'reject', reject_id, reason
FROM rejects
ORDER BY ALL;
