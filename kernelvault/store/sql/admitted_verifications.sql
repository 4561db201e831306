-- The newest verifications that were made on a tier and in a sandbox that the channel admits.
CREATE VIEW admitted_verifications AS
SELECT *
FROM latest_verifications
WHERE
    tier IN (SELECT tier FROM channel_tiers)
    AND json_extract_string(environment, '$.sandbox') IN (SELECT sandbox FROM channel_sandboxes);
