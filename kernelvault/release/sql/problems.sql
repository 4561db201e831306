-- Whatever a release claims and its own content denies: kind, subject, message.
SELECT
    'outcome' AS kind,
    candidate_id AS subject,
    gate || ' on ' || target || ' says ' || coalesce(outcome, 'nothing') || ' but its evidence says '
    || kv_outcome(gate, evidence, preset) AS message
FROM verdicts
WHERE outcome IS DISTINCT FROM kv_outcome(gate, evidence, preset)
UNION ALL
SELECT 'passed', candidate_id, 'a verification on ' || target || ' contradicts its verdicts'
FROM verifications
WHERE
    passed IS DISTINCT FROM (
        len(verdicts) > 0
        AND len(list_filter(verdicts, lambda v: v.outcome IS NOT DISTINCT FROM 'passed'))
        = len(verdicts)
    )
UNION ALL
SELECT 'verification id', candidate_id, 'verification ' || verification_id || ' has another id'
FROM verifications
WHERE
    verification_id IS DISTINCT FROM kv_verification_id(
        candidate_id, target, tier, preset_digest, gate_code_version, toolchain_digest
    )
UNION ALL
SELECT 'candidate id', candidate_id, 'the source of this candidate has another id'
FROM candidates
WHERE candidate_id IS DISTINCT FROM kv_candidate_id(problem_id, language, source, options)
UNION ALL
SELECT 'candidate id', candidate_id, 'the source of this sample has another id'
FROM released_samples
WHERE candidate_id IS DISTINCT FROM kv_candidate_id(problem_id, language, source, options)
UNION ALL
SELECT 'problem id', problem_id, 'problem ' || name || ' has another id'
FROM problems
WHERE problem_id IS DISTINCT FROM kv_problem_id(source, signature, domain, mode)
UNION ALL
SELECT 'sample', candidate_id, 'is released but lacks a verdict its channel requires, or differs'
FROM (SELECT * FROM released_samples EXCEPT SELECT * FROM samples)
UNION ALL
SELECT 'sample', candidate_id, 'passed everything but is not released, or differs'
FROM (SELECT * FROM samples EXCEPT SELECT * FROM released_samples)
UNION ALL
SELECT 'latency', candidate_id, 'has a latency on the emulated tier'
FROM verifications
WHERE tier = 'emulated' AND (latency_ms IS NOT NULL OR speedup IS NOT NULL)
UNION ALL
SELECT 'duplicate', candidate_id, 'is released more than once'
FROM released_samples
GROUP BY candidate_id
HAVING count(*) > 1
UNION ALL
SELECT 'duplicate', candidate_id, 'is a candidate more than once'
FROM candidates
GROUP BY candidate_id
HAVING count(*) > 1
UNION ALL
SELECT 'duplicate', any_value(candidate_id), 'verification ' || verification_id || ' is there twice'
FROM verifications
GROUP BY verification_id
HAVING count(*) > 1
UNION ALL
SELECT 'duplicate', problem_id, 'is a problem more than once'
FROM problems
GROUP BY problem_id
HAVING count(*) > 1
UNION ALL
SELECT 'tier', candidate_id, 'is released but ran on tier ' || coalesce(tier, 'none')
FROM released_samples
WHERE tier IS NULL OR tier NOT IN (SELECT tier FROM channel_tiers)
UNION ALL
SELECT
    'requirement',
    s.candidate_id,
    'is released without ' || r.gate || ' passed on ' || r.target
FROM released_samples AS s
CROSS JOIN channel_requirements AS r
ANTI JOIN verdicts AS v
    ON s.candidate_id = v.candidate_id
    AND s.preset = v.preset
    AND r.gate = v.gate
    AND r.target = v.target
    AND v.outcome = 'passed'
ORDER BY ALL;
