import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Causes events in numbers that it knows, for streams of them. One command a line, one answer:
 *
 * <ul>
 *   <li>{@code call N T}: {@code work} is called N times by each of T threads {@code worker-i}
 *   <li>{@code set N}: each of the fields is written N times, in {@code write}
 *   <li>{@code below N}: those of a few types are written N times, in {@code writeBelowZero}
 *   <li>{@code throw N}: N exceptions of each of three classes are thrown and caught
 *   <li>{@code wait MS…}: {@code Object.wait} for so long each, in the thread {@code waiter}
 *   <li>{@code sleep MS…}: {@code slow} takes so long each
 *   <li>{@code gc}: collects; the answer is how many collections there have been so far
 *   <li>{@code tagged N}: makes N objects {@code Kept}; {@code forget} lets them go
 *   <li>{@code load N}: N class loaders each load {@code Other}, call it and are forgotten
 *   <li>{@code names N T}: each of T threads loads N classes whose names are some 1,500 letters long
 *       by a loader of its own; the answer is how many letters they have together
 *   <li>{@code rate}: how many times {@code work} can be called in 50 ms
 *   <li>{@code storm}: calls {@code work} for ever, in a thread of its own; {@code storms} how often
 * </ul>
 */
public class Streamed {
    static volatile long calls;
    static volatile long storms;
    static int number;
    static long wide;
    static boolean truth;
    static double fraction;
    static float single;
    static byte tiny;
    static char letter;
    static short small;
    static String text;
    int own;
    static Object[] kept;

    public static class Kept {}

    public static class Other {
        public static int call(int value) {
            return value + 1;
        }
    }

    static class Special extends IllegalStateException {
        private static final long serialVersionUID = 1;
    }

    static int work(int value) {
        return value + 1;
    }

    static void idle() {}

    static void slow(long milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
    }

    static void write(int value, Streamed object) {
        number = value;
        wide = -value;
        truth = value % 2 == 0;
        fraction = value / 2.0;
        single = value / 4f;
        text = value % 2 == 0 ? "even" : null;
        object.own = value;
    }

    static void writeBelowZero(int value) {
        tiny = (byte) -value;
        letter = (char) -value;
        small = (short) -value;
        number = -value;
        wide = -value;
        truth = value != 0;
        single = -value / 4f;
    }

    static void fail(int kind) throws IOException {
        if (kind == 0) {
            throw new IOException("checked");
        }
        if (kind == 1) {
            throw new IllegalStateException("unchecked");
        }
        throw new Special();
    }

    static class Loader extends ClassLoader {
        Class<?> other() throws IOException {
            byte[] bytes =
                    Streamed.class.getResourceAsStream("Streamed$Other.class").readAllBytes();
            return defineClass("Streamed$Other", bytes, 0, bytes.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 100; i++) {
            System.gc();
            ManagementFactory.getGarbageCollectorMXBeans();
            break;
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            System.out.println(answer(line.split(" ")));
        }
        System.exit(0);
    }

    static final String LONG = "Long".repeat(370);

    /** Defines classes that have nothing but a name. */
    static class Naming extends ClassLoader {
        long define(String name) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(0xCAFEBABE);
            out.writeInt(52);
            out.writeShort(5); // constants: two names and their classes
            out.writeByte(1);
            out.writeUTF(name);
            out.writeByte(7);
            out.writeShort(1);
            out.writeByte(1);
            out.writeUTF("java/lang/Object");
            out.writeByte(7);
            out.writeShort(3);
            out.writeShort(0x21);
            out.writeShort(2);
            out.writeShort(4);
            out.writeLong(0); // interfaces, fields, methods, attributes
            byte[] file = bytes.toByteArray();
            defineClass(name, file, 0, file.length);
            return name.length();
        }
    }

    static String named(int count, int threads) throws InterruptedException {
        AtomicLong letters = new AtomicLong();
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            String prefix = LONG + "_" + i + "_";
            all[i] = new Thread(() -> {
                Naming loader = new Naming();
                try {
                    for (int j = 0; j < count; j++) {
                        letters.addAndGet(loader.define(prefix + j));
                    }
                } catch (IOException never) {
                    throw new UncheckedIOException(never);
                }
            }, "naming-" + i);
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        return Long.toString(letters.get());
    }

    static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            sum += bean.getCollectionCount();
        }
        return sum;
    }

    static String answer(String[] words) throws Exception {
        int count = words.length > 1 ? Integer.parseInt(words[1]) : 0;
        switch (words[0]) {
            case "call":
                Thread[] threads = new Thread[Integer.parseInt(words[2])];
                for (int i = 0; i < threads.length; i++) {
                    threads[i] = new Thread(() -> {
                        int value = 0;
                        for (int j = 0; j < count; j++) {
                            value = work(value);
                        }
                    }, "worker-" + i);
                }
                for (Thread thread : threads) {
                    thread.start();
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                return "called " + (long) count * threads.length;
            case "set":
                Streamed object = new Streamed();
                for (int i = 0; i < count; i++) {
                    write(i, object);
                }
                return "set";
            case "below":
                for (int i = 0; i < count; i++) {
                    writeBelowZero(i);
                }
                return "below";
            case "throw":
                for (int i = 0; i < 3 * count; i++) {
                    try {
                        fail(i % 3);
                    } catch (IOException | RuntimeException expected) {
                        idle();
                    }
                }
                return "thrown";
            case "wait":
                Thread waiter = new Thread(() -> {
                    Object lock = new Object();
                    try {
                        for (int i = 1; i < words.length; i++) {
                            synchronized (lock) {
                                lock.wait(Long.parseLong(words[i]));
                            }
                        }
                    } catch (InterruptedException never) {
                        throw new AssertionError(never);
                    }
                }, "waiter");
                waiter.start();
                waiter.join();
                return "waited";
            case "sleep":
                for (int i = 1; i < words.length; i++) {
                    slow(Long.parseLong(words[i]));
                }
                return "slept";
            case "gc":
                System.gc();
                return Long.toString(collections());
            case "tagged":
                kept = new Object[count];
                for (int i = 0; i < count; i++) {
                    kept[i] = new Kept();
                }
                return "kept";
            case "forget":
                kept = null;
                return "forgotten";
            case "load":
                int sum = 0;
                for (int i = 0; i < count; i++) {
                    sum += (int) new Loader().other().getMethod("call", int.class).invoke(null, i);
                    if (i % 50 == 49) {
                        System.gc();
                    }
                }
                return "loaded " + sum;
            case "names":
                return named(count, Integer.parseInt(words[2]));
            case "rate":
                long until = System.nanoTime() + 50_000_000;
                long done = 0;
                int value = 0;
                while (System.nanoTime() < until) {
                    for (int i = 0; i < 1000; i++) {
                        value = work(value);
                    }
                    done += 1000;
                }
                number = value;
                return Long.toString(done);
            case "storm":
                Thread storm = new Thread(() -> {
                    while (true) {
                        number = work(number);
                        storms++;
                    }
                }, "storm");
                storm.setDaemon(true);
                storm.start();
                return "storming";
            case "storms":
                return Long.toString(storms);
            default:
                return "error: " + words[0];
        }
    }
}
