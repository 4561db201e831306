-- Candidates an id prefix names: their own, an attempt's or a verification's id.
SELECT candidate_id FROM candidates WHERE starts_with(candidate_id, $prefix)
UNION
SELECT candidate_id FROM attempts
WHERE starts_with(attempt_id, $prefix) AND candidate_id IS NOT NULL
UNION
SELECT candidate_id FROM verifications WHERE starts_with(verification_id, $prefix)
ORDER BY candidate_id
LIMIT 10
