SELECT attempt_id, agent, agent_version, turn, label, schedule, feedback
FROM attempts
WHERE candidate_id = $id
ORDER BY attempt_id
