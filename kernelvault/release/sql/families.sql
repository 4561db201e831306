SELECT family, count(*) AS samples
FROM released_samples
GROUP BY family
ORDER BY family;
