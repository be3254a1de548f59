package versioned.spark.write;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import versioned.spark.protocol.WrittenSegment;

/**
 * Segments of a task that have all of their rows. Threads make them durable while the task writes the next ones; they
 * mostly wait for a disk or a store.
 */
final class FinishedSegments implements AutoCloseable {
    private static final int THREADS = 8;

    private final List<WrittenSegment> done = new ArrayList<>();
    private final Deque<Future<WrittenSegment>> coming = new ArrayDeque<>();
    private ExecutorService threads;

    void add(OpenSegment segment) throws IOException {
        if (threads == null) {
            threads = Executors.newFixedThreadPool(THREADS, FinishedSegments::thread);
        }
        coming.add(threads.submit(segment::finish));
        if (coming.size() > THREADS) { // each holds the rows that are not on storage yet
            done.add(result(coming.remove()));
        }
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "versioned-segments");
        thread.setDaemon(true);
        return thread;
    }

    /** All segments, durable. */
    List<WrittenSegment> all() throws IOException {
        while (!coming.isEmpty()) {
            done.add(result(coming.remove()));
        }
        return done;
    }

    /** All segments and the last one, durable. */
    List<WrittenSegment> allWith(OpenSegment last) throws IOException {
        WrittenSegment finished = last.finish();
        all().add(finished);
        return done;
    }

    private static WrittenSegment result(Future<WrittenSegment> segment) throws IOException {
        try {
            return segment.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            throw new IOException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the task was ended while it wrote", e);
        }
    }

    @Override
    public void close() {
        if (threads != null) {
            threads.shutdown();
        }
    }
}
