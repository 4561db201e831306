-- Replayed candidates that some gate turned down: the first such gate of each.
WITH turned_down AS (
    SELECT v.candidate_id, u.verdict.gate AS gate, u.verdict.reason AS reason
    FROM verifications AS v, UNNEST(v.verdicts) AS u (verdict)
    WHERE u.verdict.outcome = 'failed'
    QUALIFY row_number() OVER (
        PARTITION BY v.candidate_id
        ORDER BY list_position(['static', 'compile', 'correctness'], gate), v.target
    ) = 1
)

SELECT problems.name AS problem, attempts.label, gate, turned_down.reason, candidate_id
FROM attempts
INNER JOIN turned_down USING (candidate_id)
INNER JOIN problems USING (problem_id)
WHERE attempts.agent = 'replay' AND problems.name IN (SELECT UNNEST($problems))
ORDER BY problem, label
