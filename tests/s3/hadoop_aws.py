"""What Spark reads S3 by itself with."""

from __future__ import annotations

HADOOP, SDK = "3.5.0", "2.35.4"
"""What PySpark 4.3 comes with, and the SDK that this Hadoop was built with."""

PACKAGES = ",".join(
    (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        *(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
    )
)
"""Without the SDK's bundle of all services, which takes 600 MB."""
