SELECT verification_id, target, tier, preset, verdicts
FROM verifications
WHERE candidate_id = $id
ORDER BY target, verification_id
