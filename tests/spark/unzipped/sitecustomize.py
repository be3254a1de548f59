"""Let Spark's Python workers import PySpark from its package, which has bytecode, and not from a zip.

Python can't store bytecode in a zip, so each worker would compile PySpark again, for a second.
"""

import sys

sys.path[:] = [path for path in sys.path if not path.endswith("/pyspark.zip")]
