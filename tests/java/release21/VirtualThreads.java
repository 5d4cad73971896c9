import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;

/**
 * Causes events on virtual threads, and counts them itself. One command a line, one answer:
 *
 * <ul>
 *   <li>{@code run N}: N virtual threads {@code virtual-i} each call {@code work} {@code i % 5 + 1}
 *       times and let another have the carrier after each; the answer is how many calls there were
 *   <li>{@code nameless N}: the same by N threads without a name, three calls each
 *   <li>{@code throw N}: each of N virtual threads throws and catches one exception
 *   <li>{@code kept}: a virtual thread {@code kept} is begun, which waits in {@link #kept}
 *   <li>{@code release}: it calls {@code work} eleven times and ends, beside 100 others that do
 *   <li>{@code both N}: N virtual threads and N of the platform, all named {@code same}, call once
 * </ul>
 */
public class VirtualThreads {
    static final LongAdder calls = new LongAdder();
    static final LongAdder thrown = new LongAdder();
    static Thread kept;
    static final CountDownLatch go = new CountDownLatch(1);

    static void work() {
        calls.increment();
    }

    static void fail() throws IOException {
        thrown.increment();
        throw new IOException("on purpose");
    }

    static void several(int times) {
        for (int i = 0; i < times; i++) {
            work();
            Thread.yield();
        }
    }

    static void caught() {
        try {
            fail();
        } catch (IOException expected) {
            Thread.yield();
        }
    }

    static long join(List<Thread> threads, LongAdder counter) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        return counter.sumThenReset();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            System.out.println(answer(line.split(" ")));
        }
        System.exit(0);
    }

    static String answer(String[] words) throws Exception {
        int count = words.length > 1 ? Integer.parseInt(words[1]) : 0;
        List<Thread> threads = new ArrayList<>();
        switch (words[0]) {
            case "run":
                for (int i = 0; i < count; i++) {
                    int times = i % 5 + 1;
                    threads.add(Thread.ofVirtual().name("virtual-" + i).start(() -> several(times)));
                }
                return Long.toString(join(threads, calls));
            case "nameless":
                for (int i = 0; i < count; i++) {
                    threads.add(Thread.ofVirtual().start(() -> several(3)));
                }
                return Long.toString(join(threads, calls));
            case "throw":
                for (int i = 0; i < count; i++) {
                    threads.add(Thread.ofVirtual().name("throws-" + i).start(() -> caught()));
                }
                return Long.toString(join(threads, thrown));
            case "kept":
                kept = Thread.ofVirtual().name("kept").start(() -> {
                    try {
                        go.await();
                    } catch (InterruptedException never) {
                        throw new AssertionError(never);
                    }
                    several(11);
                });
                return "kept";
            case "release":
                go.countDown();
                threads.add(kept);
                for (int i = 0; i < 100; i++) {
                    threads.add(Thread.ofVirtual().name("other-" + i).start(() -> several(2)));
                }
                return Long.toString(join(threads, calls));
            case "both":
                for (int i = 0; i < count; i++) {
                    threads.add(Thread.ofVirtual().name("same").start(() -> several(1)));
                    threads.add(Thread.ofPlatform().name("same").start(() -> several(1)));
                }
                return Long.toString(join(threads, calls));
            default:
                return "error: " + words[0];
        }
    }
}
