-- Whatever a release claims and its own content denies: kind, subject, message.
SELECT
    'outcome' AS kind,
    candidate_id AS subject,
    gate || ' on ' || target || ' says ' || outcome || ' but its evidence says '
    || kv_outcome(gate, evidence, preset) AS message
FROM verdicts
WHERE outcome <> kv_outcome(gate, evidence, preset)
UNION ALL
SELECT 'passed', candidate_id, 'a verification on ' || target || ' contradicts its verdicts'
FROM verifications
WHERE
    passed
    <> (len(verdicts) > 0 AND len(list_filter(verdicts, lambda v: v.outcome <> 'passed')) = 0)
UNION ALL
SELECT 'verification id', candidate_id, 'verification ' || verification_id || ' has another id'
FROM verifications
WHERE
    verification_id <> kv_verification_id(
        candidate_id, target, tier, preset_digest, gate_code_version, toolchain_digest
    )
UNION ALL
SELECT 'candidate id', candidate_id, 'the source of this candidate has another id'
FROM candidates
WHERE candidate_id <> kv_candidate_id(problem_id, language, source, options)
UNION ALL
SELECT 'candidate id', candidate_id, 'the source of this sample has another id'
FROM released_samples
WHERE candidate_id <> kv_candidate_id(problem_id, language, source, options)
UNION ALL
SELECT 'problem id', problem_id, 'problem ' || name || ' has another id'
FROM problems
WHERE problem_id <> kv_problem_id(source, signature, domain, mode)
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
ORDER BY ALL;
