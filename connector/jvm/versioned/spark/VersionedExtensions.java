package versioned.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.BoxedUnit;
import versioned.spark.extension.AllowSetNotNull;
import versioned.spark.extension.CharsAsChars;
import versioned.spark.extension.CheckOptions;
import versioned.spark.extension.DeleteAllRows;
import versioned.spark.extension.EvolveWithRows;
import versioned.spark.extension.NoteStatement;
import versioned.spark.extension.KeepNestedSubqueriesOut;
import versioned.spark.extension.NoticeOwnReads;
import versioned.spark.extension.ReadCopiesPlainly;
import versioned.spark.extension.ReadNatively;
import versioned.spark.extension.ShowErrors;
import versioned.spark.extension.ShowNestedChars;
import versioned.spark.internals.PartitionFieldParser;
import versioned.spark.internals.SparkViews;
import versioned.spark.view.CheckViewColumns;

/** {@code spark.sql.extensions=versioned.spark.VersionedExtensions}: what a catalog alone can't do. */
public final class VersionedExtensions implements Function1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectParser((session, parser) -> new PartitionFieldParser(session, parser));
        // Before names are resolved:
        extensions.injectHintResolutionRule(session -> new NoteStatement());
        extensions.injectHintResolutionRule(session -> new CheckOptions(session));
        extensions.injectHintResolutionRule(session -> new EvolveWithRows(session));
        extensions.injectHintResolutionRule(session -> new ShowErrors(session));
        extensions.injectHintResolutionRule(session -> new ShowNestedChars(session));
        extensions.injectResolutionRule(session -> new ReadNatively());
        extensions.injectResolutionRule(session -> new AllowSetNotNull());
        extensions.injectPostHocResolutionRule(session -> new CharsAsChars());
        extensions.injectOptimizerRule(session -> new DeleteAllRows());
        extensions.injectOptimizerRule(session -> new ReadCopiesPlainly());
        extensions.injectOptimizerRule(session -> new KeepNestedSubqueriesOut());
        extensions.injectCheckRule(session -> new NoticeOwnReads(session));
        extensions.injectCheckRule(session -> new CheckViewColumns());
        extensions.injectCheckRule(session -> SparkViews.checkReferences());
        return BoxedUnit.UNIT;
    }
}
