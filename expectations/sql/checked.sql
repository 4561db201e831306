-- What the suites look at: rows beside what their own content says they should be.
CREATE TABLE checked.samples AS
SELECT
    *,
    kv_candidate_id(problem_id, language, source, options) AS derived_id
FROM samples;

CREATE TABLE checked.channel_tiers AS
SELECT tier FROM channel_tiers;

CREATE TABLE checked.requirements AS
SELECT
    s.candidate_id,
    r.gate,
    r.target,
    coalesce(max(v.outcome) FILTER (v.outcome = 'passed'), max(v.outcome), 'missing') AS outcome
FROM samples AS s
CROSS JOIN channel_requirements AS r
LEFT JOIN (
    SELECT d.*
    FROM verdicts AS d
    SEMI JOIN admitted_verifications AS a ON d.verification_id = a.verification_id
) AS v
    ON s.candidate_id = v.candidate_id
    AND s.preset = v.preset
    AND r.gate = v.gate
    AND r.target = v.target
GROUP BY ALL;

CREATE TABLE checked.verdicts AS
SELECT
    verification_id,
    candidate_id,
    target,
    tier,
    gate,
    outcome,
    kv_outcome(gate, evidence, preset) AS derived_outcome
FROM verdicts;

CREATE TABLE checked.verifications AS
SELECT
    verification_id,
    candidate_id,
    target,
    tier,
    latency_ms,
    speedup,
    passed,
    len(verdicts) > 0
    AND len(list_filter(verdicts, lambda v: v.outcome IS NOT DISTINCT FROM 'passed'))
    = len(verdicts) AS derived_passed,
    kv_verification_id(
        candidate_id, target, tier, preset_digest, gate_code_version, toolchain_digest
    ) AS derived_id
FROM verifications;

CREATE TABLE checked.candidates AS
SELECT
    candidate_id,
    kv_candidate_id(problem_id, language, source, options) AS derived_id
FROM candidates;

CREATE TABLE checked.problems AS
SELECT
    problem_id,
    name,
    family,
    kv_problem_id(source, signature, domain, mode) AS derived_id
FROM problems;
