SELECT
    family,
    language,
    agent,
    tier,
    list(DISTINCT license_spdx ORDER BY license_spdx) AS licences,
    count(*) AS samples
FROM read_parquet(?, hive_partitioning = true, union_by_name = true)
GROUP BY family, language, agent, tier
ORDER BY family, language, agent, tier;
