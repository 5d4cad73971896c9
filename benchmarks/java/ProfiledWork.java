import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does units of work for so many milliseconds, in as many threads as there are processors, and says
 * how many it did, and the processor time that the whole process used: {@code cpu 1000}, {@code
 * alloc 1000}, {@code locks 1000}; {@code virtual 1000} does what {@code cpu} does, on virtual
 * threads. {@code idle 500} starts threads that are parked.
 */
public class ProfiledWork {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object MONITOR = new Object();
    static volatile Object kept;
    static volatile long sink;

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static long digits(long seed) {
        long sum = 0;
        for (int i = 0; i < 4000; i++) {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            sum += Long.numberOfTrailingZeros(seed) + (seed >>> 33) % 10;
        }
        return sum;
    }

    static long table(Map<Integer, Integer> map, int seed) {
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            Integer found = map.get((seed * 31 + i * 7) & 1023);
            sum += found == null ? 1 : found;
        }
        return sum;
    }

    static void sort(int[] numbers, int seed) {
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i * 1103515245 + seed) & 0xFFFF;
        }
        java.util.Arrays.sort(numbers);
    }

    interface Unit {
        void run(int round);
    }

    static Unit cpu() {
        Map<Integer, Integer> map = new HashMap<>();
        for (int i = 0; i < 700; i++) {
            map.put(i, i);
        }
        int[] numbers = new int[256];
        return round -> {
            sink += fibonacci(14) + digits(round) + table(map, round);
            sort(numbers, round);
        };
    }

    static Unit alloc() {
        return round -> {
            for (int i = 0; i < 200; i++) {
                kept = new byte[100 + (round + i) % 900];
                if (i % 8 == 0) {
                    kept = new long[100 + round % 300];
                }
            }
        };
    }

    static Unit locks() {
        return round -> {
            if (round % 2 == 0) {
                synchronized (MONITOR) {
                    sink += digits(round);
                }
            } else {
                LOCK.lock();
                try {
                    sink += digits(round);
                } finally {
                    LOCK.unlock();
                }
            }
        };
    }

    static void work(String what, int milliseconds) throws InterruptedException {
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        Thread[] threads = new Thread[what.equals("locks") ? 4 : 2];
        AtomicLong units = new AtomicLong();
        long used = system.getProcessCpuTime();
        long began = System.nanoTime();
        long until = began + milliseconds * 1_000_000L;
        for (int n = 0; n < threads.length; n++) {
            threads[n] =
                    started(
                            what.equals("virtual"),
                            "work-" + n,
                            () -> {
                                Unit unit =
                                        what.equals("alloc")
                                                ? alloc()
                                                : what.equals("locks") ? locks() : cpu();
                                int done = 0;
                                while (System.nanoTime() < until) {
                                    unit.run(done++);
                                }
                                units.addAndGet(done);
                            });
        }
        for (Thread one : threads) {
            one.join();
        }
        long passed = System.nanoTime() - began;
        System.out.println(
                "did " + units + " " + (system.getProcessCpuTime() - used) + " " + passed);
    }

    static Thread started(boolean virtual, String name, Runnable body) {
        if (virtual) {
            try {
                return (Thread)
                        Thread.class
                                .getMethod("startVirtualThread", Runnable.class)
                                .invoke(null, body);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        Thread thread = new Thread(body, name);
        thread.start();
        return thread;
    }

    static void idle(int count) {
        for (int n = 0; n < count; n++) {
            Thread thread =
                    new Thread(
                            () -> {
                                while (true) {
                                    LockSupport.park();
                                }
                            },
                            "idle-" + n);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("did " + count);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("idle")) {
                idle(Integer.parseInt(words[1]));
            } else {
                work(words[0], Integer.parseInt(words[1]));
            }
        }
    }
}
