-- One row a sample and architecture it was compiled for.
CREATE VIEW sample_targets AS
SELECT
    samples.candidate_id,
    samples.problem,
    samples.family,
    samples.language,
    samples.agent,
    v.target,
    v.tier,
    v.preset,
    v.code_object_sha256,
    v.latency_ms,
    v.speedup,
    list_max(list_transform(v.kernels, lambda k: k.vgpr)) AS vgpr,
    list_max(list_transform(v.kernels, lambda k: k.sgpr)) AS sgpr,
    list_max(list_transform(v.kernels, lambda k: k.lds_bytes)) AS lds_bytes,
    list_min(list_transform(v.kernels, lambda k: k.occupancy)) AS occupancy,
    list_max(list_transform(v.kernels, lambda k: k.mfma)) AS mfma
FROM samples
INNER JOIN latest_verifications AS v
    ON samples.candidate_id = v.candidate_id AND samples.preset = v.preset
WHERE v.target LIKE 'gfx%';
