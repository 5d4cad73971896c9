"""A PySpark driver that works on one job after the other."""

from __future__ import annotations

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
number = 0
while True:
    number += 1
    rows = spark.range(1000 * number).selectExpr("sum(id)").collect()
    print("round", number, "sum", rows[0][0], flush=True)
