"""Plans on Spark: the same engine, as wide as the cluster."""
