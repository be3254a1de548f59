"""All messages of the protocol."""

from pyspark_versioned.sql.protocol.common import *  # noqa: F403
from pyspark_versioned.sql.protocol.names import *  # noqa: F403
from pyspark_versioned.sql.protocol.rows import *  # noqa: F403
from pyspark_versioned.sql.protocol.table import *  # noqa: F403
