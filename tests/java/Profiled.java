import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;

/** Uses processor time in known shares, and says how much each part used by its own count. */
public class Profiled {
    static volatile long sink;
    static int[] numbers = new int[1 << 16];
    static byte[] bytes = new byte[1 << 20];
    static byte[] copy = new byte[1 << 20];

    interface Work {
        void once() throws Exception;
    }

    static void loop() {
        long sum = 0;
        for (int i = 0; i < 200_000; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        sink += sum;
    }

    static void loops() {
        for (int i = 0; i < 8; i++) {
            loop();
        }
    }

    static void digest() throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(bytes, 0, 1 << 16);
        sink += digest.digest()[0];
    }

    static void copies() {
        for (int i = 0; i < 8; i++) {
            System.arraycopy(bytes, 0, copy, 0, bytes.length);
        }
        sink += copy[7];
    }

    static int deep(int depth) {
        return depth == 0 ? (int) sink : deep(depth - 1) * 31 + depth;
    }

    static void recursion() {
        for (int i = 0; i < 500; i++) {
            sink += deep(200);
        }
    }

    /** How often a recursion is through in so many seconds. */
    static int far(double seconds) {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        int done = 0;
        while (System.nanoTime() < until) {
            sink += deep(2000);
            done++;
        }
        return done;
    }

    static void thrower(int i) throws Exception {
        throw new IllegalStateException("number " + i);
    }

    static void exceptions() {
        for (int i = 0; i < 200; i++) {
            try {
                thrower(i);
            } catch (Exception e) {
                sink += e.getMessage().length();
            }
        }
    }

    static int a(int i) {
        return b(i) + 1;
    }

    static int b(int i) {
        return c(i) ^ 0x55;
    }

    static int c(int i) {
        return (i * 31) ^ numbers[i & 0xFFFF];
    }

    static void inlined() {
        int sum = 0;
        for (int i = 0; i < 300_000; i++) {
            sum += a(i);
        }
        sink += sum;
    }

    abstract static class Shape {
        abstract int area(int i);
    }

    static class Square extends Shape {
        int area(int i) {
            return i * i;
        }
    }

    static class Circle extends Shape {
        int area(int i) {
            return i * i * 3;
        }
    }

    static class Strip extends Shape {
        int area(int i) {
            return i * 7 + 1;
        }
    }

    static class Dot extends Shape {
        int area(int i) {
            return i ^ 1;
        }
    }

    static final Shape[] SHAPES = {new Square(), new Circle(), new Strip(), new Dot()};

    /** Calls with so many receivers that none is inlined. */
    static void shapes() {
        int sum = 0;
        for (int i = 0; i < 100_000; i++) {
            sum += SHAPES[(i * 31 >>> 3) & 3].area(i);
        }
        sink += sum;
    }

    static void sorting() {
        int[] copied = new int[8192];
        for (int i = 0; i < copied.length; i++) {
            copied[i] = (i * 1103515245 + 12345) & 0x7FFFFFFF;
        }
        Arrays.sort(copied);
        sink += copied[100];
    }

    static void natives() {
        for (int i = 0; i < 2000; i++) {
            sink += Thread.currentThread().isAlive() ? Runtime.getRuntime().totalMemory() : 0;
        }
    }

    static final String[] NAMES = {
        "loop", "digest", "copies", "recursion", "exceptions", "inlined", "sorting", "natives",
        "shapes"
    };
    static final Work[] WORKS = {
        Profiled::loop,
        Profiled::digest,
        Profiled::copies,
        Profiled::recursion,
        Profiled::exceptions,
        Profiled::inlined,
        Profiled::sorting,
        Profiled::natives,
        Profiled::shapes,
    };

    static void runLoop(long until) throws Exception {
        while (System.nanoTime() < until) loop();
    }

    static void runDigest(long until) throws Exception {
        while (System.nanoTime() < until) digest();
    }

    static void runCopies(long until) throws Exception {
        while (System.nanoTime() < until) copies();
    }

    static void runRecursion(long until) throws Exception {
        while (System.nanoTime() < until) recursion();
    }

    static void runExceptions(long until) throws Exception {
        while (System.nanoTime() < until) exceptions();
    }

    static void runInlined(long until) throws Exception {
        while (System.nanoTime() < until) inlined();
    }

    static void runSorting(long until) throws Exception {
        while (System.nanoTime() < until) sorting();
    }

    static void runNatives(long until) throws Exception {
        while (System.nanoTime() < until) natives();
    }

    static void runShapes(long until) throws Exception {
        while (System.nanoTime() < until) shapes();
    }

    static void run(int which, long nanos) throws Exception {
        long until = System.nanoTime() + nanos;
        switch (which) {
            case 0:
                runLoop(until);
                break;
            case 1:
                runDigest(until);
                break;
            case 2:
                runCopies(until);
                break;
            case 3:
                runRecursion(until);
                break;
            case 4:
                runExceptions(until);
                break;
            case 5:
                runInlined(until);
                break;
            case 6:
                runSorting(until);
                break;
            case 7:
                runNatives(until);
                break;
            default:
                runShapes(until);
        }
    }

    /** Turns of each part, some longer than others; the processor time of each, in its order. */
    static String mixed(double seconds) throws Exception {
        var beans = java.lang.management.ManagementFactory.getThreadMXBean();
        return turns(seconds, beans::getCurrentThreadCpuTime);
    }

    /** The same in a virtual thread, whose processor time the VM does not know: time that passed. */
    static String virtual(double seconds) throws Exception {
        String[] found = {"?"};
        Runnable work =
                () -> {
                    try {
                        found[0] = turns(seconds, System::nanoTime);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                };
        Thread thread =
                (Thread)
                        Thread.class
                                .getMethod("startVirtualThread", Runnable.class)
                                .invoke(null, work);
        thread.join();
        return found[0];
    }

    static String turns(double seconds, java.util.function.LongSupplier clock) throws Exception {
        long[] used = new long[WORKS.length];
        long end = System.nanoTime() + (long) (seconds * 1e9);
        while (System.nanoTime() < end) {
            for (int i = 0; i < WORKS.length; i++) {
                long before = clock.getAsLong();
                run(i, (i + 1) * 1_500_000L);
                used[i] += clock.getAsLong() - before;
            }
        }
        StringBuilder said = new StringBuilder();
        for (int i = 0; i < used.length; i++) {
            said.append(i == 0 ? "" : " ").append(NAMES[i]).append('=').append(used[i]);
        }
        return said.toString();
    }

    /** Reads that spend next to all of so many seconds of processor time in the kernel. */
    static long zeros(double seconds) throws Exception {
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        long until = threads.getCurrentThreadCpuTime() + (long) (seconds * 1e9);
        var buffer = java.nio.ByteBuffer.allocateDirect(1 << 24);
        long read = 0;
        try (var zero = java.nio.channels.FileChannel.open(java.nio.file.Path.of("/dev/zero"))) {
            while (threads.getCurrentThreadCpuTime() < until) {
                buffer.clear();
                read += zero.read(buffer);
            }
        }
        return read;
    }

    static void threads(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            Thread made = new Thread(Profiled::loops, "short " + i % 10);
            made.start();
            made.join();
        }
    }

    /** Threads, one after the other, that use a millisecond each; the nanoseconds of all of them. */
    static long brief(int count) throws Exception {
        var beans = java.lang.management.ManagementFactory.getThreadMXBean();
        var used = new java.util.concurrent.atomic.AtomicLong();
        for (int i = 0; i < count; i++) {
            Thread made =
                    new Thread(
                            () -> {
                                while (beans.getCurrentThreadCpuTime() < 1_000_000) {
                                    loop();
                                }
                                used.addAndGet(beans.getCurrentThreadCpuTime());
                            },
                            "brief " + i % 10);
            made.start();
            made.join();
        }
        return used.get();
    }

    static int lengthOf(String text) {
        return text.length();
    }

    /** Nulls that compiled code finds by the fault that they cause. */
    static int nulls(int count) {
        String[] texts = {"a", "bc", "def", null};
        int found = 0;
        for (int i = 0; i < count * texts.length; i++) {
            try {
                sink += lengthOf(texts[i % texts.length]);
            } catch (NullPointerException e) {
                found++;
            }
        }
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            switch (words[0]) {
                case "mixed":
                    System.out.println(mixed(Double.parseDouble(words[1])));
                    break;
                case "virtual":
                    System.out.println(virtual(Double.parseDouble(words[1])));
                    break;
                case "zeros":
                    System.out.println(zeros(Double.parseDouble(words[1])));
                    break;
                case "far":
                    System.out.println(far(Double.parseDouble(words[1])));
                    break;
                case "threads":
                    threads(Integer.parseInt(words[1]));
                    System.out.println("done");
                    break;
                case "brief":
                    System.out.println(brief(Integer.parseInt(words[1])));
                    break;
                case "handle":
                    sun.misc.Signal.handle(
                            new sun.misc.Signal(words[1]),
                            one -> System.out.println("SIG" + one.getName()));
                    System.out.println("handled");
                    break;
                case "nulls":
                    System.out.println(nulls(Integer.parseInt(words[1])) + " nulls");
                    break;
                case "sleep":
                    TimeUnit.MILLISECONDS.sleep(Integer.parseInt(words[1]));
                    System.out.println("done");
                    break;
                default:
                    System.out.println("?");
            }
        }
    }
}
