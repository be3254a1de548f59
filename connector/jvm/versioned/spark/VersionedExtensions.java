package versioned.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.BoxedUnit;
import versioned.spark.extension.AllowSetNotNull;
import versioned.spark.extension.DeleteAllRows;
import versioned.spark.extension.EvolveWithRows;
import versioned.spark.extension.NoticeOwnReads;
import versioned.spark.extension.ReadNatively;
import versioned.spark.extension.RefuseStreams;
import versioned.spark.internals.PartitionFieldParser;

/** {@code spark.sql.extensions=versioned.spark.VersionedExtensions}: what a catalog alone can't do. */
public final class VersionedExtensions implements Function1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectParser((session, parser) -> PartitionFieldParser.over(session, parser));
        extensions.injectHintResolutionRule(session -> new EvolveWithRows(session)); // before names are resolved
        extensions.injectResolutionRule(session -> new ReadNatively());
        extensions.injectResolutionRule(session -> new AllowSetNotNull());
        extensions.injectOptimizerRule(session -> new DeleteAllRows());
        extensions.injectCheckRule(session -> new NoticeOwnReads());
        extensions.injectCheckRule(session -> new RefuseStreams());
        return BoxedUnit.UNIT;
    }
}
