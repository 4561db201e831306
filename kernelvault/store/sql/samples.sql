-- One row a candidate that passed every gate the channel requires, on every target it requires.
CREATE VIEW samples AS
WITH passed AS (
    SELECT DISTINCT v.candidate_id, v.preset, v.target, u.verdict.gate AS gate
    FROM admitted_verifications AS v, UNNEST(v.verdicts) AS u (verdict)
    WHERE u.verdict.outcome = 'passed'
),

complete AS (
    SELECT passed.candidate_id, passed.preset
    FROM passed
    INNER JOIN channel_requirements AS required
        ON passed.gate = required.gate AND passed.target = required.target
    GROUP BY ALL
    HAVING count(*) = (SELECT count(*) FROM channel_requirements)
),

usage AS (
    SELECT
        v.candidate_id,
        v.preset,
        max(u.kernel.vgpr) AS vgpr,
        max(u.kernel.sgpr) AS sgpr,
        max(u.kernel.agpr) AS agpr,
        max(u.kernel.lds_bytes) AS lds_bytes,
        max(u.kernel.scratch_bytes) AS scratch_bytes,
        max(u.kernel.vgpr_spills + u.kernel.sgpr_spills) AS spills,
        min(u.kernel.occupancy) AS occupancy,
        max(u.kernel.mfma) AS mfma
    FROM admitted_verifications AS v, UNNEST(v.kernels) AS u (kernel)
    GROUP BY ALL
),

summary AS (
    SELECT
        candidate_id,
        preset,
        -- The closest to real hardware.
        arg_min(tier, list_position(['hardware', 'foreign', 'emulated'], tier)) AS tier,
        list(DISTINCT target ORDER BY target) FILTER (target LIKE 'gfx%') AS targets,
        max(code_object_sha256) FILTER (target = 'gfx942') AS code_object_sha256,
        min(latency_ms) AS latency_ms,
        max(speedup) AS speedup
    FROM admitted_verifications
    GROUP BY ALL
),

first_attempt AS (
    SELECT *
    FROM attempts
    WHERE candidate_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY candidate_id ORDER BY agent, turn, attempt_id) = 1
)

SELECT
    candidates.candidate_id,
    candidates.problem_id,
    problems.name AS problem,
    problems.family,
    problems.graph_group,
    candidates.language,
    first_attempt.agent,
    first_attempt.turn,
    first_attempt.schedule,
    summary.tier,
    complete.preset,
    summary.targets,
    usage.vgpr,
    usage.sgpr,
    usage.agpr,
    usage.lds_bytes,
    usage.scratch_bytes,
    usage.spills,
    usage.occupancy,
    usage.mfma,
    summary.code_object_sha256,
    summary.latency_ms,
    summary.speedup,
    candidates.source,
    candidates.options,
    candidates.source_repo,
    candidates.source_commit,
    candidates.source_path,
    candidates.license_spdx
FROM complete
INNER JOIN candidates ON complete.candidate_id = candidates.candidate_id
INNER JOIN problems ON candidates.problem_id = problems.problem_id
INNER JOIN summary
    ON complete.candidate_id = summary.candidate_id AND complete.preset = summary.preset
LEFT JOIN usage ON complete.candidate_id = usage.candidate_id AND complete.preset = usage.preset
LEFT JOIN first_attempt ON complete.candidate_id = first_attempt.candidate_id;
