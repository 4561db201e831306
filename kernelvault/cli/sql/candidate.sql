SELECT p.name AS problem, p.family, c.language, c.license_spdx, c.source
FROM candidates c JOIN problems p USING (problem_id)
WHERE c.candidate_id = $id
LIMIT 1
