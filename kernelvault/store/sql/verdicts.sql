-- One row a verdict.
CREATE VIEW verdicts AS
SELECT
    v.verification_id,
    v.candidate_id,
    v.problem_id,
    v.target,
    v.tier,
    v.preset,
    v.started_at,
    u.verdict.gate AS gate,
    u.verdict.outcome AS outcome,
    u.verdict.reason AS reason,
    u.verdict.evidence AS evidence
FROM verifications AS v, UNNEST(v.verdicts) AS u (verdict);
