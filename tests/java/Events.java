import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Does on request what makes the VM send events, and says what Java itself saw of it.
 *
 * <p>One command a line on standard input: the name of one of the methods below that take a list
 * of words, and the words. One line of answer on standard output, what the method returns.
 */
public class Events {
    static final List<String> trace = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = perform(line.split(" "));
            } catch (Throwable problem) {
                answer = "error " + problem;
            }
            System.out.println(answer);
        }
        System.exit(0);
    }

    static String perform(String[] words) throws Throwable {
        try {
            Method command = Events.class.getDeclaredMethod(words[0], String[].class);
            Object rest = Arrays.copyOfRange(words, 1, words.length);
            return String.valueOf(command.invoke(null, rest));
        } catch (InvocationTargetException failed) {
            throw failed.getCause();
        }
    }

    static String echo(String[] words) {
        return words[0];
    }

    // Threads -------------------------------------------------------------------------------

    interface Task {
        void run() throws Exception;
    }

    static Runnable runnable(Task task) {
        return () -> {
            try {
                task.run();
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        };
    }

    static Thread virtual(String name, Runnable task) throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, task);
    }

    /** Runs a command on a thread of its own: {@code thread NAME COMMAND …}. */
    static String thread(String[] words) throws Throwable {
        return on(words, false);
    }

    /** The same on a virtual thread. */
    static String virtual(String[] words) throws Throwable {
        return on(words, true);
    }

    static String on(String[] words, boolean virtual) throws Throwable {
        String[] answer = {"nothing"};
        Runnable task = () -> {
            try {
                answer[0] = perform(Arrays.copyOfRange(words, 1, words.length));
            } catch (Throwable problem) {
                answer[0] = "error " + problem;
            }
        };
        Thread thread = virtual ? virtual(words[0], task) : new Thread(task, words[0]);
        thread.start();
        thread.join();
        return answer[0];
    }

    static String me(String[] words) {
        return Thread.currentThread().getName();
    }

    static final AtomicInteger met = new AtomicInteger();
    static volatile CountDownLatch together;

    /** Many threads come to the same place: {@code parallel HOW_MANY}. */
    static String parallel(String[] words) throws Exception {
        int count = Integer.parseInt(words[0]);
        met.set(0);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            threads.add(new Thread(() -> meet(number), "meeting " + i));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return String.valueOf(met.get());
    }

    static int meet(int number) {
        int here = number + 1;
        met.incrementAndGet();
        return here;
    }

    // Code ----------------------------------------------------------------------------------

    /** Straight ahead, with a variable of each type. */
    static String mixed(
            boolean z, byte b, char c, short s, int i, long j, float f, double d, Object o) {
        int later = i + 1;
        return z + "," + b + "," + (int) c + "," + s + "," + i + "," + j + "," + f + "," + d
                + "," + o + "," + later;
    }

    static String variables(String[] words) {
        return mixed(true, (byte) -8, 'C', (short) -16, -32, -64L, 1.5f, -2.25, "text");
    }

    static int straight(int value) {
        int sum = value + 1;
        sum *= 3;
        sum -= 2;
        return sum;
    }

    static String calculate(String[] words) {
        return String.valueOf(straight(Integer.parseInt(words[0])));
    }

    static int outer(int value) {
        int before = value + 1;
        int inside = inner(before);
        return inside + 1;
    }

    static int inner(int value) {
        int result = value * 2;
        return result;
    }

    static String nested(String[] words) {
        return String.valueOf(outer(Integer.parseInt(words[0])));
    }

    static int down(int level) {
        trace.add("enter " + level);
        int result = level == 0 ? 0 : 1 + down(level - 1);
        trace.add("leave " + level);
        return result;
    }

    static String descend(String[] words) {
        trace.clear();
        int result = down(Integer.parseInt(words[0]));
        return result + " " + String.join(", ", trace);
    }

    // What each returns when nobody interferes.
    static class Returning {
        boolean aBoolean() { calls++; return false; }
        byte aByte() { calls++; return 1; }
        char aChar() { calls++; return 1; }
        short aShort() { calls++; return 1; }
        int anInt() { calls++; return 1; }
        long aLong() { calls++; return 1; }
        float aFloat() { calls++; return 1; }
        double aDouble() { calls++; return 1; }
        String aString() { calls++; return "its own"; }
        void aVoid() { calls++; }
        static int calls;
    }

    /** Calls some of them: {@code returned aByte aVoid}; how often code ran follows each. */
    static String returned(String[] words) {
        StringBuilder all = new StringBuilder();
        for (String word : words) {
            all.append(all.length() == 0 ? "" : ", ").append(returned(word));
        }
        return all.toString();
    }

    static String returned(String name) {
        Returning it = new Returning();
        Returning.calls = 0;
        String result;
        switch (name) {
            case "aBoolean": result = String.valueOf(it.aBoolean()); break;
            case "aByte": result = String.valueOf(it.aByte()); break;
            case "aChar": result = String.valueOf((int) it.aChar()); break;
            case "aShort": result = String.valueOf(it.aShort()); break;
            case "anInt": result = String.valueOf(it.anInt()); break;
            case "aLong": result = String.valueOf(it.aLong()); break;
            case "aFloat": result = String.valueOf(it.aFloat()); break;
            case "aDouble": result = String.valueOf(it.aDouble()); break;
            case "aString": result = it.aString(); break;
            default: it.aVoid(); result = "nothing";
        }
        return result + " " + Returning.calls;
    }

    static synchronized int locked(int value) {
        return value + 1;
    }

    /** Whether somebody else may enter, once a popped or finished {@code locked} has left. */
    static String locking(String[] words) throws Exception {
        int result = locked(Integer.parseInt(words[0]));
        Thread taker = new Thread(() -> locked(0), "taker");
        taker.setDaemon(true);
        taker.start();
        taker.join(10_000);
        return result + (taker.isAlive() ? " held" : " free");
    }

    static volatile boolean resting = true;
    static volatile int rounds;

    // Exceptions ----------------------------------------------------------------------------

    static class Failure extends RuntimeException {
        Failure(String message) {
            super(message);
        }
    }

    static void throwing(String message) {
        throw new Failure(message);
    }

    static void passing(String message) {
        throwing(message);
    }

    static String catching(String message) {
        try {
            passing(message);
            return "not thrown";
        } catch (Failure failure) {
            return failure.getMessage() + " " + failure.getStackTrace()[0].getLineNumber();
        }
    }

    static String fail(String[] words) {
        return catching(words[0]);
    }

    /** An exception that nobody catches ends a thread: {@code uncaught NAME}. */
    static String uncaught(String[] words) throws Exception {
        String[] seen = {"nothing"};
        Thread thread = new Thread(() -> throwing("alone"), words[0]);
        thread.setUncaughtExceptionHandler((one, failure) -> seen[0] = failure.getMessage());
        thread.start();
        thread.join();
        return seen[0];
    }

    // Fields --------------------------------------------------------------------------------

    static class Watched {
        static int counter = 1;
        boolean aBoolean;
        byte aByte;
        char aChar;
        short aShort;
        int anInt = 5;
        long aLong;
        float aFloat;
        double aDouble;
        String aString = "before";

        void write() {
            aBoolean = true;
            aByte = -8;
            aChar = 'C';
            aShort = -16;
            anInt = -32;
            aLong = -64;
            aFloat = 1.5f;
            aDouble = -2.25;
            aString = "after";
        }
    }

    static Watched watched = new Watched();

    static String write(String[] words) {
        watched = new Watched();
        watched.write();
        Watched.counter = 7;
        return watched.aString;
    }

    static String read(String[] words) {
        return Watched.counter + " " + watched.anInt;
    }

    // Monitors ------------------------------------------------------------------------------

    static final class Lock {}

    static final Lock lock = new Lock();

    /** Set from outside: whether the holder stays although somebody wants the monitor. */
    static volatile boolean holding;

    /** A thread wants a monitor that another has; both are named by the caller. */
    static String contend(String[] words) throws Exception {
        trace.clear();
        CountDownLatch held = new CountDownLatch(1);
        Thread[] wanting = new Thread[1];
        Thread holder = new Thread(runnable(() -> {
            synchronized (lock) {
                held.countDown();
                while (holding || wanting[0] == null
                        || wanting[0].getState() != Thread.State.BLOCKED) {
                    Thread.sleep(1);
                }
                trace.add("held");
            }
        }), words[0]);
        holder.start();
        held.await();
        wanting[0] = new Thread(() -> {
            synchronized (lock) {
                trace.add("entered");
            }
        }, words[1]);
        wanting[0].start();
        wanting[0].join();
        holder.join();
        return String.join(" ", trace);
    }

    /** Waits for a time that runs out: {@code doze MILLISECONDS}. */
    static String doze(String[] words) throws Exception {
        synchronized (lock) {
            lock.wait(Long.parseLong(words[0]));
        }
        return "awake";
    }

    /** A thread waits until it is notified. */
    static String notified(String[] words) throws Exception {
        Thread waiting = new Thread(runnable(() -> {
            synchronized (lock) {
                lock.wait();
            }
        }), words[0]);
        waiting.start();
        while (waiting.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        synchronized (lock) {
            lock.notify();
        }
        waiting.join();
        return "notified";
    }

    // Memory --------------------------------------------------------------------------------

    static volatile Object kept;

    /** The VM itself makes the copy: {@code copy LENGTH}. */
    static String copy(String[] words) throws Exception {
        long[] first = new long[Integer.parseInt(words[0])];
        kept = first.clone();
        return kept.getClass().getName() + " " + System.identityHashCode(kept);
    }

    static final class Sampled {
        long[] some = new long[125];
    }

    /** So many arrays of 1016 bytes or so: {@code allocate HOW_MANY}. */
    static String allocate(String[] words) {
        int count = Integer.parseInt(words[0]);
        for (int i = 0; i < count; i++) {
            kept = new Sampled();
        }
        return String.valueOf(count);
    }

    static String exhaust(String[] words) {
        try {
            kept = new long[Integer.MAX_VALUE / 2];
            return "enough";
        } catch (OutOfMemoryError error) {
            return error.getMessage();
        }
    }

    // Classes -------------------------------------------------------------------------------

    /** What loaders of its own define. */
    public static class Loaded {
        static final String TEXT = "first";

        public static String said() {
            return "loaded first";
        }

        static int passing(int value) {
            return value * 17 + 3;
        }

        /** Calls a method until it is compiled, or long enough. */
        public static int heat() {
            int value = 1;
            for (int i = 0; i < 300_000; i++) {
                value = passing(value);
            }
            return value;
        }
    }

    static class Loader extends ClassLoader {
        Loader() {
            super(Events.class.getClassLoader());
        }

        Class<?> define(String name) throws Exception {
            String resource = name.replace('.', '/') + ".class";
            try (InputStream in = Events.class.getClassLoader().getResourceAsStream(resource)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length, Events.class.getProtectionDomain());
            }
        }
    }

    static volatile Loader loader;
    static volatile Object domain = Events.class.getProtectionDomain();

    /** Defines a class anew, in a loader of its own; what it says then. */
    static String load(String[] words) throws Exception {
        loader = new Loader();
        Class<?> type = loader.define("Events$Loaded");
        return (String) type.getMethod("said").invoke(null);
    }

    /** Defines it, has a method of it compiled, and drops it. */
    static String pass(String[] words) throws Exception {
        Class<?> type = new Loader().define("Events$Loaded");
        return String.valueOf(type.getMethod("heat").invoke(null));
    }

    static String collect(String[] words) {
        System.gc();
        return "collected";
    }

    /** What the class that this program's own loader has says now. */
    static class Changing {
        String version() {
            return "version one";
        }

        static int lingering(CountDownLatch inside, CountDownLatch leave) throws Exception {
            inside.countDown();
            leave.await();
            return number();
        }

        static int number() {
            return 1;
        }
    }

    static final Changing changing = new Changing();

    static String version(String[] words) {
        return changing.version();
    }

    static CountDownLatch leave;
    static Thread lingerer;
    static volatile int lingered;

    static String linger(String[] words) throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        leave = new CountDownLatch(1);
        lingerer = new Thread(runnable(() -> lingered = Changing.lingering(inside, leave)), "lingerer");
        lingerer.start();
        inside.await();
        return "lingering";
    }

    static String leave(String[] words) throws Exception {
        leave.countDown();
        lingerer.join();
        return String.valueOf(lingered);
    }

    /** How often the counter of instrumented methods was called. */
    public static final AtomicInteger count = new AtomicInteger();

    public static void hit() {
        count.incrementAndGet();
    }

    /** Asks a class of the platform so often. */
    static String summary(String[] words) {
        IntSummaryStatistics statistics = new IntSummaryStatistics();
        long count = 0;
        for (int i = 0; i < Integer.parseInt(words[0]); i++) {
            count += statistics.getCount();
        }
        return String.valueOf(count);
    }

    static String counted(String[] words) {
        return String.valueOf(count.getAndSet(0));
    }

    // Native and compiled code --------------------------------------------------------------

    /** Its library is loaded on request, so that each VM binds it once. */
    static class Native {
        static native int one();

        static native int two();

        static native int three();
    }

    static String library(String[] words) {
        System.load(words[0]);
        return "loaded";
    }

    static String bind(String[] words) {
        switch (words[0]) {
            case "one": return String.valueOf(Native.one());
            case "two": return String.valueOf(Native.two());
            default: return String.valueOf(Native.three());
        }
    }

    static int hot(int value) {
        return value * 31 + 7;
    }

    /** Calls a method until it is compiled, or long enough. */
    static String heat(String[] words) {
        int value = 1;
        for (int i = 0; i < 300_000; i++) {
            value = hot(value);
        }
        return String.valueOf(value);
    }

    // Modules and class paths ---------------------------------------------------------------

    /** Whether a class is found: {@code find NAME}; by the boot loader with {@code boot NAME}. */
    static String find(String[] words) throws Exception {
        Class<?> type = Class.forName(words[0]);
        return type.getName() + " " + (type.getClassLoader() == null ? "boot" : "app");
    }

    /** Whether a package of the platform may be looked into: {@code open MODULE PACKAGE}. */
    static String access(String[] words) {
        Module module = ModuleLayer.boot().findModule(words[0]).get();
        Module mine = Events.class.getModule();
        return module.isExported(words[1], mine) + " " + module.isOpen(words[1], mine);
    }

    static String uses(String[] words) throws Exception {
        Module module = ModuleLayer.boot().findModule(words[0]).get();
        return String.valueOf(module.canUse(Class.forName(words[1])));
    }

    static String reads(String[] words) {
        Module module = ModuleLayer.boot().findModule(words[0]).get();
        return String.valueOf(module.canRead(ModuleLayer.boot().findModule(words[1]).get()));
    }
}
