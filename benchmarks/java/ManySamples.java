import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Allocates, parks and works on thousands of stacks, so that a recording has many samples. */
public class ManySamples {
    static volatile Object kept;
    static final AtomicLong count = new AtomicLong();

    static void leaf(SplittableRandom random) {
        int which = random.nextInt(20);
        if (which == 0) {
            LockSupport.parkNanos(1);
        } else if (which < 12) {
            kept = new byte[64 + random.nextInt(2000)];
        } else {
            kept = new long[random.nextInt(200)];
        }
        count.incrementAndGet();
    }

    static void left(SplittableRandom random, int depth) {
        next(random, depth - 1);
    }

    static void right(SplittableRandom random, int depth) {
        next(random, depth - 1);
    }

    static void middle(SplittableRandom random, int depth) {
        next(random, depth - 1);
    }

    static void next(SplittableRandom random, int depth) {
        if (depth <= 0) {
            for (int i = 0; i < 50; i++) {
                leaf(random);
            }
            return;
        }
        switch (random.nextInt(3)) {
            case 0:
                left(random, depth);
                break;
            case 1:
                right(random, depth);
                break;
            default:
                middle(random, depth);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long until = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        Thread[] threads = new Thread[4];
        for (int n = 0; n < threads.length; n++) {
            // Few enough different stacks that each comes again, as in a server.
            int seed = n;
            threads[n] =
                    new Thread(
                            () -> {
                                for (int i = 0; System.nanoTime() < until; i++) {
                                    SplittableRandom random = new SplittableRandom(seed + i % 2000);
                                    next(random, 10 + random.nextInt(20));
                                }
                            },
                            "worker-" + n);
            threads[n].start();
        }
        for (Thread one : threads) {
            one.join();
        }
        System.out.println(count);
    }
}
