SELECT name, any_value(family) AS family FROM problems GROUP BY name
