import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits for locks at a fixed rate. Each 1.5 ms, one thread takes a lock and keeps it while it uses
 * some processor time between 10 µs and 1 ms; the other wakes up and wants it, and then has half as
 * much to do. {@code monitor} and {@code lock} choose the kind; {@code did} answers how many waits
 * there were, how long they took together, and what the threads used for their work. The rest of
 * the processor time of the process is for waiting and waking.
 */
public class PacedLocks {
    static final long PERIOD = 1_500_000;
    static final long SHORTEST = 10_000;
    static final double LONGEST_BY_SHORTEST = 100;

    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final AtomicLong waits = new AtomicLong();
    static final AtomicLong waited = new AtomicLong();
    static final AtomicLong worked = new AtomicLong();
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile boolean monitor;
    static volatile long taken;

    static void work(long nanoseconds) {
        long began = THREADS.getCurrentThreadCpuTime();
        long used = 0;
        while (used < nanoseconds) {
            used = THREADS.getCurrentThreadCpuTime() - began;
        }
        worked.addAndGet(used);
    }

    static void sleepUntil(long moment) {
        for (long left; (left = moment - System.nanoTime()) > 0; ) {
            LockSupport.parkNanos(left);
        }
    }

    static void hold(Thread waiter, long round, long nanoseconds) {
        taken = round;
        LockSupport.unpark(waiter);
        work(nanoseconds);
    }

    static void first(Thread waiter) {
        Random chance = new Random(1);
        long began = System.nanoTime() + 100_000_000;
        for (long round = 1; ; round++) {
            sleepUntil(began + round * PERIOD);
            long time = (long) (SHORTEST * Math.pow(LONGEST_BY_SHORTEST, chance.nextDouble()));
            if (monitor) {
                synchronized (MONITOR) {
                    hold(waiter, round, time);
                }
            } else {
                LOCK.lock();
                try {
                    hold(waiter, round, time);
                } finally {
                    LOCK.unlock();
                }
            }
        }
    }

    static void second() {
        Random chance = new Random(2);
        for (long round = 1; ; round++) {
            while (taken < round) {
                LockSupport.park();
            }
            long time = (long) (SHORTEST * Math.pow(LONGEST_BY_SHORTEST, chance.nextDouble())) / 2;
            long wanted = System.nanoTime();
            long had;
            if (monitor) {
                synchronized (MONITOR) {
                    had = System.nanoTime();
                }
            } else {
                LOCK.lock();
                had = System.nanoTime();
                LOCK.unlock();
            }
            waits.incrementAndGet();
            waited.addAndGet(had - wanted);
            work(time);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Thread second = new Thread(PacedLocks::second, "second");
        for (Thread one : new Thread[] {second, new Thread(() -> first(second), "first")}) {
            one.setDaemon(true);
            one.start();
        }
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
            if (!line.equals("did")) {
                monitor = line.equals("monitor");
            }
            System.out.println("did " + waits + " " + waited + " " + worked);
        }
    }
}
