import java.util.concurrent.locks.LockSupport;

/**
 * Spends its time in known places for a second or more, for recordings: `burn` uses the processor,
 * `fill` allocates byte arrays, `contend` waits for a monitor, and `park` parks. `hold` allocates 4 MB that stay.
 */
public final class Recorded {
    private static final Object LOCK = new Object();
    static volatile long sink;
    static volatile byte[] kept;
    static final byte[][] HELD = new byte[400][];

    private Recorded() {}

    static void burn(long until) {
        long sum = 0;
        while (System.nanoTime() < until) {
            for (int i = 0; i < 10_000; i++) sum += i * 31L ^ sum >>> 3;
        }
        sink = sum;
    }

    static void fill(long until) {
        while (System.nanoTime() < until) kept = new byte[10_000];
    }

    static void hold() {
        for (int i = 0; i < HELD.length; i++) HELD[i] = new byte[10_000];
    }

    static void park(long until) {
        while (System.nanoTime() < until) LockSupport.parkNanos(LOCK, 30_000_000);
    }

    static void contend(long until) throws InterruptedException {
        while (System.nanoTime() < until) {
            synchronized (LOCK) {
                Thread.sleep(30);
            }
        }
    }

    private interface Work {
        void run(long until) throws InterruptedException;
    }

    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        hold();
        Work[] works = {Recorded::burn, Recorded::fill, Recorded::park, Recorded::contend, Recorded::contend};
        String[] names = {"burner", "filler", "parker", "contender-1", "contender-2"};
        Thread[] threads = new Thread[works.length];
        for (int i = 0; i < works.length; i++) {
            Work work = works[i];
            threads[i] = new Thread(() -> {
                try {
                    work.run(until);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            }, names[i]);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
