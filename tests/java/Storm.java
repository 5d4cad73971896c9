import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes as many events as its argument says, and counts them itself.
 *
 * <p>One command a line on standard input, the count as the answer:
 *
 * <ul>
 *   <li>{@code calls T N}: T threads that call {@link #hit} N times each
 *   <li>{@code exceptions T N}: T threads that throw and catch N exceptions each
 *   <li>{@code virtual N}: N virtual threads, all alive at once, that call {@link #hit} once each
 *   <li>{@code classes T N}: T threads that define {@link Blank} N times each, in loaders of its own
 *   <li>{@code fields T N}: T threads that write {@link #written} N times each
 * </ul>
 */
public class Storm {
    static final AtomicLong hits = new AtomicLong();
    static volatile int written;

    static void hit() {
        hits.incrementAndGet();
    }

    public static class Blank {
        public static int answer() {
            return 41;
        }
    }

    static class Own extends ClassLoader {
        Own() {
            super(Storm.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass("Storm$Blank", bytes, 0, bytes.length);
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void onThreads(int count, String name, Body body) throws Exception {
        Thread[] threads = new Thread[count];
        Throwable[] failed = new Throwable[1];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> {
                try {
                    body.run();
                } catch (Throwable thrown) {
                    failed[0] = thrown;
                }
            }, name + "-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failed[0] != null) {
            throw new Exception(failed[0]);
        }
    }

    static final AtomicLong done = new AtomicLong();

    static String answer(String[] words) throws Exception {
        int count = Integer.parseInt(words[1]);
        int times = words.length > 2 ? Integer.parseInt(words[2]) : 1;
        hits.set(0);
        done.set(0);
        switch (words[0]) {
            case "calls":
                onThreads(count, "caller", () -> {
                    for (int i = 0; i < times; i++) {
                        hit();
                    }
                });
                return Long.toString(hits.get());
            case "exceptions":
                onThreads(count, "thrower", () -> {
                    for (int i = 0; i < times; i++) {
                        try {
                            throw new IllegalStateException("storm");
                        } catch (IllegalStateException caught) {
                            done.incrementAndGet();
                        }
                    }
                });
                return Long.toString(done.get());
            case "fields":
                onThreads(count, "writer", () -> {
                    for (int i = 0; i < times; i++) {
                        written = i;
                        done.incrementAndGet();
                    }
                });
                return Long.toString(done.get());
            case "classes":
                byte[] bytes = Storm.class.getResourceAsStream("Storm$Blank.class").readAllBytes();
                onThreads(count, "definer", () -> {
                    for (int i = 0; i < times; i++) {
                        Class<?> made = new Own().define(bytes);
                        done.addAndGet((Integer) made.getMethod("answer").invoke(null));
                    }
                });
                return Long.toString(done.get());
            case "virtual":
                Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                CountDownLatch alive = new CountDownLatch(count);
                CountDownLatch ended = new CountDownLatch(count);
                for (int i = 0; i < count; i++) {
                    start.invoke(null, (Runnable) () -> {
                        try {
                            alive.countDown();
                            alive.await();
                            hit();
                        } catch (InterruptedException interrupted) {
                            throw new IllegalStateException(interrupted);
                        } finally {
                            ended.countDown();
                        }
                    });
                }
                ended.await();
                return Long.toString(hits.get());
            default:
                return "error: " + words[0];
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            System.out.println(answer(line.split(" ")));
        }
    }
}
