import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

/**
 * Records itself when its worker has allocated 400 MB already: then the worker allocates 200 MB, half of them after
 * another recording has begun, which begins a new chunk. `main` waits for a latch meanwhile.
 */
public final class RecordedLate {
    static volatile byte[] kept;

    private RecordedLate() {}

    static void early() {
        for (int i = 0; i < 40_000; i++) kept = new byte[10_000];
    }

    static void late() {
        for (int i = 0; i < 10_000; i++) kept = new byte[10_000];
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch warm = new CountDownLatch(1), begun = new CountDownLatch(1), half = new CountDownLatch(1);
        CountDownLatch again = new CountDownLatch(1), done = new CountDownLatch(1), end = new CountDownLatch(1);
        Thread worker = new Thread(() -> {
            early();
            warm.countDown();
            await(begun);
            late();
            half.countDown();
            await(again);
            late();
            done.countDown();
            await(end);
        }, "worker");
        worker.start();
        await(warm);
        try (Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            recording.enable("jdk.ThreadPark").withThreshold(java.time.Duration.ZERO);
            recording.start();
            Thread.sleep(300);
            begun.countDown();
            await(half);
            try (Recording other = new Recording()) {
                other.start();
                Thread.sleep(300);
                again.countDown();
                await(done);
                recording.stop();
            }
            recording.dump(Path.of(args[0]));
        }
        end.countDown();
    }
}
