import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.StringJoiner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Tells what Java itself says about this JVM: the second opinion of the tests.
 *
 * <p>One command a line on standard input, one line of answer on standard output; the command
 * {@code help} lists them. An answer that is a list has its items separated by single spaces, and
 * text that may hold anything is escaped as in Java source. A mistake is answered with {@code
 * error} and the reason.
 *
 * <p>Before it prints {@code ready}, these threads are in the states that their names say: {@code
 * sleeping}, {@code waiting} (for {@link #waitedFor}), {@code blocked} (on {@link #contended}, which
 * {@code holder} has), {@code parked}, {@code busy} (in {@link Locals#work}, with known values in
 * its variables; {@code spin on} lets it take a processor), {@code queued} (on {@link #ownable}, which {@code holder} has too), {@code deep}
 * (twenty frames of {@link #descend}), and where the JVM has them the virtual thread {@code virtual}
 * (waiting).
 */
public class Witness {
    static final Object waitedFor = new Monitor("waited for");
    static final Object contended = new Monitor("contended");
    static final ReentrantLock ownable = new ReentrantLock();
    static final CountDownLatch holding = new CountDownLatch(1);
    static final Object unused = new Monitor("unused");

    static final Map<String, Thread> threads = new HashMap<>();
    static final Map<String, Object> kept = new HashMap<>();
    static volatile boolean leaving;

    /** An object whose purpose shows in a heap and in a stack dump. */
    static final class Monitor {
        final String purpose;

        Monitor(String purpose) {
            this.purpose = purpose;
        }
    }

    public static void main(String[] arguments) throws Exception {
        startThreads();
        Everything.instance = new Everything();
        kept.put("everything", Everything.instance);
        kept.put("generic", new Generic<>("element"));
        kept.put("inner", new Generic<>(1).new Inner());
        kept.put("derived", new Derived());
        kept.put("lambda", Shapes.capturing("captured"));
        kept.put("array", new int[] {3, 1, 4, 1, 5});
        System.out.println("ready");

        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = Commands.answer(line.trim().split(" +"));
            } catch (Throwable problem) {
                answer = "error " + escape(String.valueOf(problem));
            }
            System.out.println(answer);
        }
        leaving = true;
        System.exit(0);
    }

    // Threads -------------------------------------------------------------------------------

    static void startThreads() throws Exception {
        start("holder", Witness::hold);
        holding.await();
        start("sleeping", () -> Thread.sleep(Long.MAX_VALUE));
        start("waiting", Witness::await);
        start("blocked", Witness::block);
        start("queued", ownable::lock);
        start("parked", () -> {
            while (true) {
                LockSupport.park(unused);
            }
        });
        start("busy", () -> new Locals().work(
                true, (byte) -8, 'Ж', (short) -16, -32, -64L, 1.5f, -2.25, "text", new int[] {1, 2}));
        start("deep", () -> descend(20));
        startVirtual();

        settle("sleeping", Thread.State.TIMED_WAITING);
        settle("waiting", Thread.State.WAITING);
        settle("blocked", Thread.State.BLOCKED);
        settle("queued", Thread.State.WAITING);
        settle("parked", Thread.State.WAITING);
        settle("deep", Thread.State.WAITING);
        settle("holder", Thread.State.WAITING);
        while (!Locals.working) {
            Thread.onSpinWait();
        }
        if (threads.containsKey("virtual")) {
            settle("virtual", Thread.State.WAITING);
        }
    }

    /** Something a thread does that may be interrupted. */
    interface Task {
        void run() throws Exception;
    }

    static Thread start(String name, Task task) {
        Thread thread = new Thread(new ThreadGroup("witness-" + name), runnable(task), name);
        thread.setDaemon(true);
        threads.put(name, thread);
        thread.start();
        return thread;
    }

    static Runnable runnable(Task task) {
        return () -> {
            try {
                task.run();
            } catch (Exception interrupted) {
                // A test that interrupts one of these threads wants it to end.
            }
        };
    }

    /** Starts a virtual thread, by reflection because this compiles for Java 11. */
    static void startVirtual() throws Exception {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, "virtual");
            Runnable task = runnable(LockSupport::park);
            Thread thread = (Thread) type.getMethod("start", Runnable.class).invoke(builder, task);
            threads.put("virtual", thread);
        } catch (NoSuchMethodException absent) {
            // Before Java 21.
        }
    }

    static void settle(String name, Thread.State state) throws InterruptedException {
        while (threads.get(name).getState() != state) {
            Thread.sleep(1);
        }
    }

    /** Owns a monitor and a lock that other threads want, and waits inside for good. */
    static void hold() throws InterruptedException {
        ownable.lock();
        synchronized (contended) {
            holding.countDown();
            new CountDownLatch(1).await();
        }
    }

    static void await() throws InterruptedException {
        synchronized (waitedFor) {
            waitedFor.wait();
        }
    }

    static void block() {
        synchronized (contended) {
            Thread.onSpinWait();
        }
    }

    static void descend(int level) throws InterruptedException {
        if (level > 1) {
            descend(level - 1);
        } else {
            new CountDownLatch(1).await();
        }
    }

    /** Has a method with a parameter or a variable of every type, all of them in use. */
    static class Locals {
        static volatile boolean working;
        /** Whether the thread takes a whole processor; otherwise it mostly sleeps. */
        static volatile boolean spinning;
        static volatile Object sink;
        static volatile long rounds;

        void work(
                boolean aBoolean, byte aByte, char aChar, short aShort, int anInt, long aLong,
                float aFloat, double aDouble, String aString, int[] anArray) {
            Object nothing = null;
            String result = "none";
            while (!leaving) {
                int inLoop = 42;
                rounds += inLoop;
                working = true;
                if (spinning) {
                    continue;
                }
                try {
                    Thread.sleep(1);
                } catch (InterruptedException ended) {
                    result = "interrupted";
                    break;
                }
            }
            // Uses everything, so that every value lives as long as the loop.
            sink = "" + aBoolean + aByte + aChar + aShort + anInt + aLong + aFloat + aDouble
                    + aString + anArray.length + nothing + result + rounds;
        }
    }

    // Classes -------------------------------------------------------------------------------

    /** A field of every type, static and not, and of every kind of access. */
    static class Everything implements Constants {
        static Everything instance;

        static boolean staticBoolean = true;
        static byte staticByte = Byte.MIN_VALUE;
        static char staticChar = '\u20ac';
        static short staticShort = Short.MIN_VALUE;
        static int staticInt = Integer.MIN_VALUE;
        static long staticLong = Long.MIN_VALUE;
        static float staticFloat = Float.MIN_VALUE;
        static double staticDouble = Double.MIN_VALUE;
        static String staticString = "static \u00e9 \ud83d\ude00 \u0000 end";
        static final int CONSTANT = 17;

        public boolean aBoolean = true;
        protected byte aByte = Byte.MAX_VALUE;
        char aChar = '\u4e2d';
        private short aShort = Short.MAX_VALUE;
        final int anInt = Integer.parseInt("2147483647");
        volatile long aLong = Long.MAX_VALUE;
        transient float aFloat = Float.MAX_VALUE;
        double aDouble = Double.MAX_VALUE;
        String aString = "instance";
        Object nothing;
        int[] ints = {1, -2, 3};
        String[][] nested = {{"a"}, {"b", "c"}, {}};
        List<? extends Comparable<String>> generic = new ArrayList<>(List.of("x", "y"));

        static synchronized strictfp double sum(double... terms) {
            return Arrays.stream(terms).sum();
        }

        boolean invert(boolean value) {
            return !value;
        }

        byte negate(byte value) {
            return (byte) -value;
        }

        char upper(char value) {
            return Character.toUpperCase(value);
        }

        short negate(short value) {
            return (short) -value;
        }

        int negate(int value) {
            return -value;
        }

        long negate(long value) {
            return -value;
        }

        float negate(float value) {
            return -value;
        }

        double negate(double value) {
            return -value;
        }

        String join(String left, Object right) {
            return left + right;
        }

        final void fail(String message) throws IOException {
            throw new IOException(message);
        }

        native int missing(long argument);
    }

    interface Constants {
        String NAME = "constants";
        long ANSWER = 42;

        default String described() {
            return NAME + ANSWER;
        }
    }

    /** Generic, with an inner class that has a hidden reference to its outer one. */
    static class Generic<T extends Comparable<? super T>> implements Comparable<Generic<T>>, Supplier<T> {
        final T element;

        Generic(T element) {
            this.element = element;
        }

        class Inner {
            T outerElement() {
                return element;
            }
        }

        @Override
        public T get() {
            return element;
        }

        /** Gives the class a bridge method too. */
        @Override
        public int compareTo(Generic<T> other) {
            return element.compareTo(other.element);
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Marked {
        String value() default "marked";
    }

    abstract static class Base {
        static int initialized = count();
        protected int depth = 1;

        static int count() {
            return 1;
        }

        abstract String name();

        int depth() {
            return depth;
        }
    }

    @Marked
    static final class Derived extends Base implements Cloneable {
        private int depth = 2;

        @Override
        @Deprecated
        String name() {
            return "derived";
        }

        @Override
        int depth() {
            return depth + super.depth();
        }
    }

    enum Colour { RED, GREEN { @Override int weight() { return 2; } }, BLUE; int weight() { return 1; } }

    static class Shapes {
        static Supplier<String> capturing(String value) {
            return () -> value + value.length();
        }

        static Object anonymous() {
            return new Object() {
                @Override
                public String toString() {
                    return "anonymous";
                }
            };
        }

        static int table(int value) {
            switch (value) {
                case 0: return 10;
                case 1: return 11;
                case 2: return 12;
                default: return -1;
            }
        }

        static int handlers(String value) {
            try {
                return Integer.parseInt(value);
            } catch (NumberFormatException wrong) {
                return -1;
            } finally {
                unusedCalls++;
            }
        }

        static int unusedCalls;
    }

    /** Never initialised, unless a test does so. */
    static class Untouched {
        static {
            System.setProperty("witness.untouched", "initialised");
        }

        static void touch() {}
    }

    /** Notes what JNI calls it with, in a method of each type; the arguments are of every type. */
    static class Recorder {
        static Recorder instance;
        static String received = "nothing";
        static ByteBuffer buffer;
        static Throwable thrown;

        boolean[] booleans = {true, false, true};
        byte[] bytes = {1, -2, 127, -128};
        char[] chars = {'a', '\u20ac', '\uffff'};
        short[] shorts = {1, -2, Short.MIN_VALUE};
        int[] ints = {1, -2, Integer.MIN_VALUE};
        long[] longs = {1, -2, Long.MIN_VALUE};
        float[] floats = {1.5f, -0.0f, Float.NaN, Float.MAX_VALUE};
        double[] doubles = {1.5, -0.0, Double.NEGATIVE_INFINITY, Double.MIN_VALUE};
        Object[] objects = {"first", null, 3};
        String[] strings = {"one", "two"};
        String text;
        Object lock = new Monitor("of the recorder");

        Recorder() {
            instance = this;
        }

        Recorder(boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            this();
            note("Recorder", z, b, c, s, i, l, f, d, o);
        }

        static void note(String method, Object... arguments) {
            received = method + Arrays.toString(arguments);
        }

        boolean booleanOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("booleanOf", z, b, c, s, i, l, f, d, o);
            return z;
        }

        static boolean staticBooleanOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticBooleanOf", z, b, c, s, i, l, f, d, o);
            return z;
        }

        byte byteOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("byteOf", z, b, c, s, i, l, f, d, o);
            return b;
        }

        static byte staticByteOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticByteOf", z, b, c, s, i, l, f, d, o);
            return b;
        }

        char charOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("charOf", z, b, c, s, i, l, f, d, o);
            return c;
        }

        static char staticCharOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticCharOf", z, b, c, s, i, l, f, d, o);
            return c;
        }

        short shortOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("shortOf", z, b, c, s, i, l, f, d, o);
            return s;
        }

        static short staticShortOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticShortOf", z, b, c, s, i, l, f, d, o);
            return s;
        }

        int intOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("intOf", z, b, c, s, i, l, f, d, o);
            return i;
        }

        static int staticIntOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticIntOf", z, b, c, s, i, l, f, d, o);
            return i;
        }

        long longOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("longOf", z, b, c, s, i, l, f, d, o);
            return l;
        }

        static long staticLongOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticLongOf", z, b, c, s, i, l, f, d, o);
            return l;
        }

        float floatOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("floatOf", z, b, c, s, i, l, f, d, o);
            return f;
        }

        static float staticFloatOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticFloatOf", z, b, c, s, i, l, f, d, o);
            return f;
        }

        double doubleOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("doubleOf", z, b, c, s, i, l, f, d, o);
            return d;
        }

        static double staticDoubleOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticDoubleOf", z, b, c, s, i, l, f, d, o);
            return d;
        }

        Object objectOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("objectOf", z, b, c, s, i, l, f, d, o);
            return o;
        }

        static Object staticObjectOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticObjectOf", z, b, c, s, i, l, f, d, o);
            return o;
        }

        void voidOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("voidOf", z, b, c, s, i, l, f, d, o);
        }

        static void staticVoidOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            note("staticVoidOf", z, b, c, s, i, l, f, d, o);
        }

        static void thrower(String message) throws IOException {
            throw new IOException(message);
        }

        native int identity();

        static native int bitsOf(float value);

        String callIdentity() {
            try {
                return String.valueOf(identity() == System.identityHashCode(this));
            } catch (UnsatisfiedLinkError unbound) {
                return "unbound";
            }
        }

        String callBits() {
            return Integer.toHexString(bitsOf(1.5f));
        }

        String arrays() {
            return Arrays.toString(booleans) + Arrays.toString(bytes) + numbers(chars)
                    + Arrays.toString(shorts) + Arrays.toString(ints) + Arrays.toString(longs)
                    + Arrays.toString(floats) + Arrays.toString(doubles);
        }

        static String numbers(char[] chars) {
            int[] numbers = new int[chars.length];
            Arrays.setAll(numbers, index -> chars[index]);
            return Arrays.toString(numbers);
        }

        /** The sum of many numbers, for arrays that are too long to print. */
        String sumOfInts() {
            long sum = 0;
            for (int one : ints) {
                sum += one;
            }
            return ints.length + ":" + sum;
        }

        String lockLater() throws InterruptedException {
            start("wanting", () -> {
                synchronized (lock) {
                    note("locked");
                }
            });
            settle("wanting", Thread.State.BLOCKED);
            return "blocked";
        }

        String bufferContent() {
            StringJoiner joined = new StringJoiner(",");
            for (int at = 0; at < buffer.capacity(); at++) {
                joined.add(String.valueOf(buffer.get(at)));
            }
            return joined.toString();
        }

        String fillBuffer() {
            buffer = ByteBuffer.allocateDirect(8).put(new byte[] {8, 7, 6, 5, 4, 3, 2, 1});
            return "filled";
        }

        String readOnlyBuffer() {
            buffer = buffer.asReadOnlyBuffer();
            return "read-only";
        }

        String forgetBuffer() {
            buffer = null;
            return "forgotten";
        }

        String thrownByJni() {
            return String.valueOf(thrown);
        }
    }

    /** Overrides every instance method of its superclass, with another result. */
    static class Overriding extends Recorder {

        @Override
        boolean booleanOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            boolean result = super.booleanOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return !result;
        }

        @Override
        byte byteOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            byte result = super.byteOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return (byte) -result;
        }

        @Override
        char charOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            char result = super.charOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return (char) (result + 1);
        }

        @Override
        short shortOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            short result = super.shortOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return (short) -result;
        }

        @Override
        int intOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            int result = super.intOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return -result;
        }

        @Override
        long longOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            long result = super.longOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return -result;
        }

        @Override
        float floatOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            float result = super.floatOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return -result;
        }

        @Override
        double doubleOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            double result = super.doubleOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return -result;
        }

        @Override
        Object objectOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            super.objectOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
            return null;
        }

        @Override
        void voidOf(
                boolean z, byte b, char c, short s, int i, long l, float f, double d, Object o) {
            super.voidOf(z, b, c, s, i, l, f, d, o);
            received = "overriding " + received;
        }
    }

    /** A Java method around a native one of the same name with a prefix. */
    static class Prefixed {
        static int answer() {
            return wrapped_answer();
        }

        static native int wrapped_answer();
    }

    // Commands ------------------------------------------------------------------------------

    static class Commands {
        static final ThreadMXBean beans = ManagementFactory.getThreadMXBean();

        static String answer(String[] words) throws Throwable {
            String first = words.length > 1 ? words[1] : null;
            String second = words.length > 2 ? words[2] : null;
            switch (words[0]) {
                case "help":
                    return "help threads state cpu id daemon alive interrupted priority group stack"
                            + " depth monitors locks contended owner blocked-count interrupt start end"
                            + " classes load modifiers fields methods constructors interfaces super"
                            + " signature loader module status untouched get set call keep forget hash"
                            + " property set-property properties heap gc collections pauses processors uptime"
                            + " version pid spin rounds verbose-class"
                            + " modules reads exports opens can-use providers declaring synthetic"
                            + " initialize answer";
                case "threads":
                    return join(Thread.getAllStackTraces().keySet().stream()
                            .map(Thread::getName).map(Witness::escape).sorted().toArray());
                case "state":
                    return thread(first).getState().name();
                case "cpu":
                    return String.valueOf(beans.getThreadCpuTime(thread(first).getId()));
                case "id":
                    return String.valueOf(thread(first).getId());
                case "daemon":
                    return String.valueOf(thread(first).isDaemon());
                case "alive":
                    return String.valueOf(thread(first).isAlive());
                case "interrupted":
                    return String.valueOf(thread(first).isInterrupted());
                case "priority":
                    return String.valueOf(thread(first).getPriority());
                case "group":
                    return thread(first).getThreadGroup().getName();
                case "stack":
                    return join(Arrays.stream(thread(first).getStackTrace())
                            .map(frame -> frame.getClassName() + "." + frame.getMethodName() + ":"
                                    + frame.getLineNumber()).toArray());
                case "depth":
                    return String.valueOf(thread(first).getStackTrace().length);
                case "monitors":
                    return join(Arrays.stream(info(first).getLockedMonitors())
                            .map(Commands::describe).toArray());
                case "locks":
                    return join(Arrays.stream(info(first).getLockedSynchronizers())
                            .map(Commands::describe).toArray());
                case "contended":
                    return describe(info(first).getLockInfo());
                case "owner":
                    return String.valueOf(info(first).getLockOwnerName());
                case "blocked-count":
                    return String.valueOf(info(first).getBlockedCount());
                case "interrupt":
                    thread(first).interrupt();
                    return "ok";
                case "start":
                    start(first, () -> Thread.sleep(Long.MAX_VALUE));
                    settle(first, Thread.State.TIMED_WAITING);
                    return "ok";
                case "end":
                    thread(first).interrupt();
                    thread(first).join();
                    return "ok";

                case "classes":
                    return String.valueOf(
                            ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
                case "load":
                    return type(first).getName();
                case "modifiers":
                    return String.valueOf(type(first).getModifiers());
                case "fields":
                    return join(Arrays.stream(type(first).getDeclaredFields())
                            .map(field -> field.getModifiers() + ":" + field.getName() + ":"
                                    + descriptor(field.getType()))
                            .sorted().toArray());
                case "methods":
                    return join(Arrays.stream(type(first).getDeclaredMethods())
                            .map(method -> method.getModifiers() + ":" + method.getName()
                                    + descriptor(method.getParameterTypes(), method.getReturnType()))
                            .sorted().toArray());
                case "constructors":
                    return join(Arrays.stream(type(first).getDeclaredConstructors())
                            .map(made -> made.getModifiers() + ":<init>"
                                    + descriptor(made.getParameterTypes(), void.class))
                            .sorted().toArray());
                case "interfaces":
                    return join(Arrays.stream(type(first).getInterfaces())
                            .map(Class::getName).toArray());
                case "super":
                    return String.valueOf(type(first).getSuperclass());
                case "signature":
                    return descriptor(type(first));
                case "loader":
                    return String.valueOf(type(first).getClassLoader());
                case "module":
                    return String.valueOf(type(first).getModule().getName());
                case "status":
                    return type(first).isArray() + " " + type(first).isPrimitive() + " "
                            + type(first).isInterface();
                case "untouched":
                    return String.valueOf(System.getProperty("witness.untouched"));

                case "get":
                    return escape(value(field(type(first), second).get(owner(first, second))));
                case "set":
                    assign(field(type(first), second), owner(first, second), words[3]);
                    return "ok";
                case "call":
                    Method method = type(first).getDeclaredMethod(second);
                    method.setAccessible(true);
                    return escape(value(method.invoke(object(first))));
                case "keep":
                    kept.put(first, instance(type(second)));
                    return String.valueOf(System.identityHashCode(kept.get(first)));
                case "forget":
                    WeakReference<Object> watched = new WeakReference<>(kept.remove(first));
                    for (int round = 0; round < 20 && watched.get() != null; round++) {
                        System.gc();
                        Thread.sleep(5);
                    }
                    return watched.get() == null ? "collected" : "alive";
                case "hash":
                    return String.valueOf(System.identityHashCode(object(first)));

                case "property":
                    return escape(String.valueOf(System.getProperty(first)));
                case "set-property":
                    System.setProperty(first, second);
                    return "ok";
                case "properties":
                    return join(System.getProperties().stringPropertyNames().stream()
                            .sorted(Comparator.naturalOrder()).toArray());
                case "heap":
                    MemoryUsage usage = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
                    return usage.getUsed() + " " + usage.getCommitted() + " " + usage.getMax();
                case "gc":
                    System.gc();
                    return "ok";
                case "collections":
                    return String.valueOf(ManagementFactory.getGarbageCollectorMXBeans().stream()
                            .mapToLong(bean -> bean.getCollectionCount()).sum());
                case "pauses":
                    return String.valueOf(ManagementFactory.getGarbageCollectorMXBeans().stream()
                            .filter(bean -> !bean.getName().endsWith("Cycles"))
                            .mapToLong(bean -> bean.getCollectionCount()).sum());
                case "processors":
                    return String.valueOf(Runtime.getRuntime().availableProcessors());
                case "uptime":
                    return String.valueOf(ManagementFactory.getRuntimeMXBean().getUptime());
                case "version":
                    return String.valueOf(Runtime.version().feature());
                case "pid":
                    return String.valueOf(ProcessHandle.current().pid());
                case "spin":
                    Locals.spinning = first.equals("on");
                    return "ok";
                case "rounds":
                    return String.valueOf(Locals.rounds);
                case "verbose-class":
                    return String.valueOf(ManagementFactory.getClassLoadingMXBean().isVerbose());

                case "modules":
                    return join(ModuleLayer.boot().modules().stream()
                            .map(Module::getName).sorted().toArray());
                case "reads":
                    return String.valueOf(module(first).canRead(module(second)));
                case "exports":
                    return String.valueOf(module(first).isExported(second, module(words[3])));
                case "opens":
                    return String.valueOf(module(first).isOpen(second, module(words[3])));
                case "can-use":
                    return String.valueOf(module(first).canUse(type(second)));
                case "providers":
                    return join(ServiceLoader.load(ModuleLayer.boot(), type(first)).stream()
                            .map(provider -> provider.type().getName()).toArray());
                case "declaring":
                    return field(type(first), second).getDeclaringClass().getName();
                case "synthetic":
                    return join(Stream.concat(
                                    Arrays.stream(type(first).getDeclaredFields()),
                                    Arrays.stream(type(first).getDeclaredMethods()))
                            .filter(member -> ((Member) member).isSynthetic())
                            .map(member -> ((Member) member).getName()).sorted().toArray());
                case "initialize":
                    return Class.forName(type(first).getName(), true, type(first).getClassLoader())
                            .getName();
                case "answer":
                    return String.valueOf(Prefixed.answer());
                default:
                    throw new IllegalArgumentException("no command " + words[0]);
            }
        }

        static Module module(String name) {
            return name.equals("unnamed") ? Witness.class.getModule()
                    : ModuleLayer.boot().findModule(name).orElseThrow();
        }

        static Thread thread(String name) {
            Thread known = threads.get(name);
            if (known != null) {
                return known;
            }
            return Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals(name)).findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("no thread " + name));
        }

        static ThreadInfo info(String name) {
            return beans.getThreadInfo(new long[] {thread(name).getId()}, true, true)[0];
        }

        static String describe(LockInfo lock) {
            if (lock == null) {
                return "none";
            }
            String text = lock.getClassName() + "@" + lock.getIdentityHashCode();
            return lock instanceof MonitorInfo
                    ? text + ":" + ((MonitorInfo) lock).getLockedStackDepth() : text;
        }

        /** Finds a class by its name, or by its simple name if it is one of this program's. */
        static Class<?> type(String name) throws ClassNotFoundException {
            Object object = kept.get(name);
            if (object != null) {
                return object.getClass();
            }
            for (Class<?> nested : Witness.class.getDeclaredClasses()) {
                if (nested.getSimpleName().equals(name)) {
                    return nested;
                }
            }
            return Class.forName(name, false, Witness.class.getClassLoader());
        }

        static Object object(String name) {
            Object object = kept.containsKey(name) ? kept.get(name) : threads.get(name);
            if (object == null) {
                throw new IllegalArgumentException("nothing kept as " + name);
            }
            return object;
        }

        static Object instance(Class<?> type) throws Exception {
            Constructor<?> made = type.getDeclaredConstructor();
            made.setAccessible(true);
            return made.newInstance();
        }

        static Field field(Class<?> type, String name) throws Exception {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                for (Field field : at.getDeclaredFields()) {
                    if (field.getName().equals(name)) {
                        field.setAccessible(true);
                        return field;
                    }
                }
            }
            throw new NoSuchFieldException(name);
        }

        static Object owner(String name, String member) throws Exception {
            return Modifier.isStatic(field(type(name), member).getModifiers()) ? null : object(name);
        }

        static void assign(Field field, Object owner, String text) throws Exception {
            Class<?> type = field.getType();
            Object value =
                    type == boolean.class ? (Object) Boolean.valueOf(text)
                    : type == byte.class ? (Object) Byte.valueOf(text)
                    : type == char.class ? (Object) text.charAt(0)
                    : type == short.class ? (Object) Short.valueOf(text)
                    : type == int.class ? (Object) Integer.valueOf(text)
                    : type == long.class ? (Object) Long.valueOf(text)
                    : type == float.class ? (Object) Float.valueOf(text)
                    : type == double.class ? (Object) Double.valueOf(text)
                    : text.equals("null") ? null : text;
            field.set(owner, value);
        }
    }

    // Text ----------------------------------------------------------------------------------

    static String value(Object object) {
        if (object instanceof int[]) {
            return Arrays.toString((int[]) object);
        }
        if (object instanceof Object[]) {
            return Arrays.deepToString((Object[]) object);
        }
        return String.valueOf(object);
    }

    static String descriptor(Class<?>[] parameters, Class<?> result) {
        StringBuilder text = new StringBuilder("(");
        for (Class<?> parameter : parameters) {
            text.append(descriptor(parameter));
        }
        return text.append(')').append(descriptor(result)).toString();
    }

    /** Class.descriptorString came with Java 12. */
    static String descriptor(Class<?> type) {
        return java.lang.invoke.MethodType.methodType(type).toMethodDescriptorString().substring(2);
    }

    static String join(Object[] items) {
        StringJoiner joined = new StringJoiner(" ");
        for (Object item : items) {
            joined.add(String.valueOf(item));
        }
        return joined.toString();
    }

    /** Leaves printable ASCII without the backslash and the space; everything else is escaped. */
    static String escape(String text) {
        StringBuilder escaped = new StringBuilder();
        for (char unit : text.toCharArray()) {
            if (unit > ' ' && unit < 0x7f && unit != '\\') {
                escaped.append(unit);
            } else {
                escaped.append(String.format("\\u%04x", (int) unit));
            }
        }
        return escaped.toString();
    }
}
