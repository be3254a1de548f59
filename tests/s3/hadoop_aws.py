"""The Maven packages with which Spark itself reads and writes S3."""

from __future__ import annotations

HADOOP, SDK = "3.5.0", "2.35.4"
"""The Hadoop of PySpark 4.3, and the SDK that this Hadoop was built with."""

PACKAGES = ",".join(
    (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        *(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
    )
)
"""The modules that are needed, instead of the SDK's bundle of all services, which has 600 MB."""
