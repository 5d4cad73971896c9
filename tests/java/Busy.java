import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Several threads do four kinds of things at once, each counted here: they call {@code step}, throw
 * and catch, write {@code written}, and wait on a monitor. {@code Busy THREADS TIMES} begins with
 * the first line of input, prints its counts, and ends with its input.
 */
public class Busy {
    static final AtomicInteger steps = new AtomicInteger();
    static final AtomicInteger thrown = new AtomicInteger();
    static final AtomicInteger writes = new AtomicInteger();
    static final AtomicInteger waits = new AtomicInteger();
    static int written;

    static class Lock {}

    static class Expected extends Exception {
        private static final long serialVersionUID = 1;
    }

    static void step() {
        steps.incrementAndGet();
    }

    static void fail() throws Expected {
        thrown.incrementAndGet();
        throw new Expected();
    }

    static void work(int times) {
        Lock lock = new Lock();
        for (int i = 0; i < times; i++) {
            step();
            try {
                fail();
            } catch (Expected expected) {
                step();
            }
            written = i;
            writes.incrementAndGet();
            synchronized (lock) {
                waits.incrementAndGet();
                try {
                    lock.wait(1);
                } catch (InterruptedException never) {
                    throw new AssertionError(never);
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
        Thread[] threads = new Thread[Integer.parseInt(arguments[0])];
        int times = Integer.parseInt(arguments[1]);
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(times), "busy-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("steps " + steps + " thrown " + thrown + " writes " + writes
                + " waits " + waits);
        await();
    }

    static void await() throws IOException {
        while (System.in.read() >= 0) {
            // Until the test is over.
        }
    }
}
