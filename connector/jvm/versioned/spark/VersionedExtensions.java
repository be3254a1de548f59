package versioned.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.BoxedUnit;
import versioned.spark.extension.*;
import versioned.spark.internals.SparkViews;
import versioned.spark.view.CheckViewColumns;

/** {@code spark.sql.extensions=versioned.spark.VersionedExtensions}: parsing and plan rules in addition to a catalog. */
public final class VersionedExtensions implements Function1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectParser((session, parser) -> new StatementParser(session, parser));
        TableChanges.inject(extensions);
        // Before names are resolved:
        extensions.injectHintResolutionRule(session -> new RecordStatement());
        extensions.injectHintResolutionRule(session -> new RefuseOtherCatalogs(session));
        extensions.injectHintResolutionRule(session -> new ResolveOptions(session));
        extensions.injectHintResolutionRule(session -> new CheckOutputMode());
        extensions.injectHintResolutionRule(session -> new EvolveWithRows(session));
        extensions.injectHintResolutionRule(session -> new ComputeGenerated(session));
        extensions.injectHintResolutionRule(session -> new RefuseUnknownColumns(session));
        extensions.injectHintResolutionRule(session -> new TranslateErrors(session));
        extensions.injectHintResolutionRule(session -> new RefuseAlterThroughPins(session));
        extensions.injectHintResolutionRule(session -> new ResolveNestedChars(session));
        extensions.injectResolutionRule(session -> new ReadNatively());
        extensions.injectResolutionRule(session -> new AllowCheckedChanges());
        extensions.injectResolutionRule(session -> new HideUnseenColumns());
        extensions.injectResolutionRule(session -> new StreamsAreNullable());
        extensions.injectPostHocResolutionRule(session -> new ShowGenerated(session));
        extensions.injectPostHocResolutionRule(session -> new CheckReplacedRows());
        extensions.injectPostHocResolutionRule(session -> new CharsAsChars());
        extensions.injectPostHocResolutionRule(session -> new CheckLast());
        extensions.injectOptimizerRule(session -> new DeleteAllRows());
        extensions.injectOptimizerRule(session -> new ReadCopiesPlainly());
        extensions.injectOptimizerRule(session -> new KeepNestedSubqueriesOut());
        extensions.injectPreCBORule(session -> new ShuffleMatchingRows());
        extensions.injectPreCBORule(session -> new ForgetOrder());
        extensions.injectCheckRule(session -> new DetectSelfReads(session));
        extensions.injectCheckRule(session -> new CheckViewColumns());
        extensions.injectCheckRule(session -> SparkViews.checkReferences());
        return BoxedUnit.UNIT;
    }
}
