import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * What breakpoints, watches, steps and exceptions are tried on. Lines have marks, by which the tests
 * know them.
 *
 * <p>One command a line, one line of answer. {@code start NAME WHAT N} lets a new thread of that name
 * do something N times or with the number N, {@code virtual NAME WHAT N} a virtual thread; {@code
 * join NAME} waits for it and answers its result, {@code release} lets those go that spin or wait. {@code load N} defines {@code Stopping$Loaded} in N
 * new class loaders and calls it in each, {@code unload} drops them and answers whether they have
 * gone.
 */
public class Stopping {
    static final Map<String, Job> jobs = new ConcurrentHashMap<>();
    static List<Object> loaded = new ArrayList<>();
    static int written;
    static String label = "none";
    long counted;
    int other;

    static class Job extends Thread {
        final String what;
        final int number;
        volatile String result = "none";
        final CountDownLatch done = new CountDownLatch(1);

        Job(String name, String what, int number) {
            super(name);
            this.what = what;
            this.number = number;
        }

        @Override
        public void run() {
            try {
                result = perform(what, number);
            } catch (Throwable thrown) {
                result = "threw " + thrown;
            }
            done.countDown();
        }
    }

    static String perform(String what, int number) throws Exception {
        long sum = 0;
        switch (what) {
            case "add":
                for (int i = 0; i < number; i++) {
                    sum += add(i, "x" + i); // mark: adding
                    sum += 0;
                }
                return "" + sum;
            case "other":
                for (int i = 0; i < number; i++) sum += another(i);
                return "" + sum;
            case "mixed":
                return "" + mixed(true, (byte) -5, 'c', (short) 300, 70000, 1L << 40, 0.1f, 2.5,
                        "Host", "an object", null);
            case "factorial":
                return "" + factorial(number);
            case "guarded":
                return "" + guarded(number);
            case "thrower":
                return "" + thrower(number);
            case "null":
                return nothing(number);
            case "fields":
                return fields(number);
            case "loop":
                return "" + loop(number);
            case "spin":
                return "" + spin();
            case "wait":
                return "" + waiting();
            case "guard":
                return "" + guarding();
            case "locked":
                return "" + locked(number);
            case "kept":
                return "" + Kept.keep(number);
            case "proxied":
                return "" + proxied();
            case "late":
                return "" + late(number);
            case "spare":
                return "" + Spare.spare(number);
            case "streamed":
                return "" + streamed(number);
            case "parts":
                return "" + parts(new Part("first", new Part("second", null)), null, number);
            default:
                return "what is " + what;
        }
    }

    static int add(int n, String name) {
        int twice = n * 2; // mark: twice
        int sum = twice + name.length(); // mark: sum
        return sum; // mark: return
    }

    static int another(int n) {
        return add(n, "other"); // mark: another
    }

    static long mixed(boolean flag, byte b, char c, short s, int i, long l, float f, double d,
            String text, Object object, int[] array) {
        return l; // mark: mixed
    }

    static int factorial(int n) {
        if (n <= 1) { // mark: test
            return 1; // mark: one
        }
        int below = factorial(n - 1); // mark: recurse
        return n * below; // mark: multiply
    }

    static int guarded(int n) {
        try {
            return thrower(n); // mark: try
        } catch (IllegalStateException caught) {
            return -1; // mark: handler
        }
    }

    static int thrower(int n) {
        if (n > 0) { // mark: decide
            throw new IllegalStateException("n is " + n); // mark: throw
        }
        return n;
    }

    static String nothing(int n) {
        try {
            Object none = n < 0 ? "" : null;
            return none.toString(); // mark: null
        } catch (RuntimeException caught) {
            return "caught";
        }
    }

    static String fields(int n) {
        Stopping one = new Stopping();
        one.other = 5;
        for (int i = 0; i < n; i++) {
            written = i; // mark: static
            one.counted += 10; // mark: instance
        }
        label = "done"; // mark: label
        return written + " " + one.counted + " " + label;
    }

    static int loop(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) { // mark: for
            sum += i; // mark: body
        }
        return sum; // mark: end
    }

    static int streamed(int n) {
        int sum = IntStream.range(0, n).map(one -> {
            return one + 1; // mark: streamed
        }).sum();
        return sum; // mark: summed
    }

    static volatile CountDownLatch release = new CountDownLatch(1);
    static volatile boolean spinning;

    /** Runs without a pause until it is released. */
    static int spin() {
        spinning = true;
        int turns = 0;
        while (spinning) turns++;
        return turns > 0 ? 1 : 0;
    }

    /** Waits until it is released. */
    static int waiting() throws InterruptedException {
        release.await();
        return 2;
    }

    /** Waits with a monitor. */
    static synchronized int guarding() throws InterruptedException {
        release.await();
        return 3;
    }

    static int locked(int n) {
        synchronized (jobs) { // mark: locked
            n++; // mark: within
        }
        return n; // mark: unlocked
    }

    static class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            return "handled"; // mark: handled
        }
    }

    static final Supplier<?> PROXY = (Supplier<?>) Proxy.newProxyInstance(
            Stopping.class.getClassLoader(), new Class<?>[] {Supplier.class}, new Handler());

    /** Calls a method without lines, which calls one that has some. */
    static Object proxied() {
        return PROXY.get(); // mark: proxied
    }

    abstract static class Shape {
        abstract int area();

        native int drawn();
    }

    public static class Loaded {
        public static int answer(int n) {
            return n + 1; // mark: loaded
        }
    }

    /** Nothing uses it before it is asked for. */
    static class Kept {
        static int kept;

        static int keep(int n) {
            kept = n; // mark: kept
            return kept;
        }
    }

    static class Own extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static String load(int loaders) throws Exception {
        byte[] bytes;
        try (InputStream in = Stopping.class.getResourceAsStream("Stopping$Loaded.class")) {
            bytes = in.readAllBytes();
        }
        int sum = 0;
        for (int i = 0; i < loaders; i++) {
            Class<?> made = new Own().define(bytes);
            loaded.add(made);
            sum += (Integer) made.getMethod("answer", int.class).invoke(null, i);
        }
        return "" + sum;
    }

    static boolean unload() throws Exception {
        List<WeakReference<Object>> gone = new ArrayList<>();
        for (Object one : loaded) gone.add(new WeakReference<>(one));
        loaded = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            System.gc();
            if (gone.stream().allMatch(one -> one.get() == null)) return true;
            Thread.sleep(20);
        }
        return false;
    }

    /** Nanoseconds that a number of calls take, the best of several rounds. */
    static long speed(int calls) {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) {
            long began = System.nanoTime();
            long sum = 0;
            for (int i = 0; i < calls; i++) sum += add(i, "x");
            best = Math.min(best, System.nanoTime() - began + (sum == 1 ? 1 : 0));
        }
        return best;
    }

    static class Late {
        final int size;

        Late(int size) {
            this.size = size;
        }
    }

    static int late(int n) {
        Late one = new Late(n);
        return one.size; // mark: late
    }

    static class Spare {
        static int spare(int n) {
            return n + 1;
        }
    }

    static class Sized {
        int size = 7;
    }

    static class Part extends Sized {
        final Part next;
        final String name;
        boolean open = true;
        char letter = 'c';
        byte small = -5;
        short medium = 300;
        int size = 3;
        long large = 1L << 40;
        float share = 1.5f;
        double weight = 2.5;
        Object any = "an object";
        int[] array;
        int[] counts = {3, 1, 4};
        Object[] shapes = {null};
        Integer boxed = 5;
        Long huge = 1L << 40;
        Boolean sure = true;
        Character mark = 'm';
        Double half = 0.5;
        Integer lacking;

        Part(String name, Part next) {
            this.name = name;
            this.next = next;
        }

        int grown(int n) {
            return size + n; // mark: grown
        }
    }

    static int parts(Part part, Part none, int n) {
        Object some = part;
        return part.grown(n) + (none == some ? 1 : 0); // mark: parts
    }

    public static void main(String[] arguments) throws Exception {
        Class.forName("Stopping$Shape");
        System.out.println("ready");
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "start":
                    Job job = new Job(words[1], words[2], Integer.parseInt(words[3]));
                    jobs.put(words[1], job);
                    job.start();
                    System.out.println("started");
                    break;
                case "virtual":
                    Job light = new Job(words[1], words[2], Integer.parseInt(words[3]));
                    jobs.put(words[1], light);
                    Thread.class.getMethod("startVirtualThread", Runnable.class)
                            .invoke(null, light);
                    System.out.println("started");
                    break;
                case "join":
                    Job joined = jobs.remove(words[1]);
                    joined.done.await();
                    joined.join();
                    System.out.println(joined.result);
                    break;
                case "release":
                    spinning = false;
                    release.countDown();
                    release = new CountDownLatch(1);
                    System.out.println("released");
                    break;
                case "load":
                    System.out.println(load(Integer.parseInt(words[1])));
                    break;
                case "unload":
                    System.out.println(unload());
                    break;
                case "speed":
                    System.out.println(speed(Integer.parseInt(words[1])));
                    break;
                default:
                    System.out.println("what is " + line);
            }
        }
    }
}

/** A class that its file is not named after. */
class Beside {
    static int doubled(int number) {
        return 2 * number; // mark: beside
    }
}
