-- The newest verification of each candidate per target, tier and preset.
CREATE VIEW latest_verifications AS
SELECT *
FROM verifications
QUALIFY
    row_number() OVER (
        PARTITION BY candidate_id, target, tier, preset
        ORDER BY started_at DESC, verification_id
    ) = 1;
