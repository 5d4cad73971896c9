import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls a method, or writes a field, as often as its argument says and says how long that took.
 *
 * <p>{@code call N T} and {@code write N T}: N times in each of T threads; the answer is
 * nanoseconds of a processor for one time, so that other work on the machine counts little; of ten
 * times the least disturbed counts. {@code floor 1} turns the empty callbacks on, {@code floor 0}
 * off.
 */
public class Streaming {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final AtomicLong used = new AtomicLong();
    static int field;

    static native void floor(boolean on);

    static int work(int value) {
        return value + 1;
    }

    static void call(int count) {
        int value = 0;
        for (int i = 0; i < count; i++) {
            value = work(value);
        }
    }

    static void write(int count) {
        for (int i = 0; i < count; i++) {
            field = i;
        }
    }

    static double run(boolean calls, int count, int threads) throws Exception {
        CyclicBarrier together = new CyclicBarrier(threads + 1);
        for (int i = 0; i < threads; i++) {
            new Thread(() -> {
                try {
                    together.await();
                    long start = CLOCK.getCurrentThreadCpuTime();
                    if (calls) {
                        call(count);
                    } else {
                        write(count);
                    }
                    used.addAndGet(CLOCK.getCurrentThreadCpuTime() - start);
                    together.await();
                } catch (Exception failed) {
                    throw new AssertionError(failed);
                }
            }).start();
        }
        together.await();
        together.await();
        return used.getAndSet(0) / (double) count / threads;
    }

    public static void main(String[] arguments) throws Exception {
        run(true, 50000, 1);
        run(false, 50000, 1);
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            int count = Integer.parseInt(words[1]);
            if (words[0].equals("floor")) {
                floor(count == 1);
                System.out.println(0);
                continue;
            }
            double best = Double.MAX_VALUE;
            for (int i = 0; i < Integer.parseInt(words[3]); i++) {
                best = Math.min(best, run(words[0].equals("call"), count, Integer.parseInt(words[2])));
            }
            System.out.println(best);
        }
        System.exit(0);
    }
}
