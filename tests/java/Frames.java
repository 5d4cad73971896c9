import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads whose current method is ready to be popped, returned from, or to have its variables
 * changed, and which tell afterwards what became of it.
 *
 * <p>One command a line, one line of answer. {@code run NAME KIND} starts a thread of that name
 * which calls the method of {@link Act} for the kind and stays in it, with no frame above it; {@code
 * result NAME} lets it go on and answers what it got; {@code progress NAME} tells how far it came.
 * With {@code virtual NAME KIND} it is a virtual thread. The loops allocate because that is where
 * the interpreter-only VM stops: it does not at a backward branch.
 */
public class Frames {
    static final Map<String, Act> acts = new ConcurrentHashMap<>();
    static final Map<String, Object> loaded = new ConcurrentHashMap<>();
    /** The thread of the latest {@code run} or {@code virtual}. */
    static volatile Thread latest;

    /** One thread's part. */
    static class Act implements Runnable {
        final String kind;
        volatile Thread thread;
        volatile boolean released;
        volatile int calls;
        volatile int seen;
        volatile boolean caught;
        volatile String result = "none";

        Act(String kind) {
            this.kind = kind;
        }

        @Override
        public void run() {
            try {
                result = "returned " + perform();
            } catch (Throwable thrown) {
                result = "threw " + thrown.getClass().getName() + " " + thrown.getMessage();
            }
        }

        String perform() throws Exception {
            switch (kind) {
                case "boolean": return String.valueOf(aBoolean());
                case "byte": return String.valueOf(aByte());
                case "char": return String.valueOf((int) aChar());
                case "short": return String.valueOf(aShort());
                case "int": return String.valueOf(anInt());
                case "long": return String.valueOf(aLong());
                case "float": return String.valueOf(aFloat());
                case "double": return String.valueOf(aDouble());
                case "String": return aString();
                case "declared": return aPassing().getClass() == Passing.class ? "its own" : "an impostor";
                case "void": aVoid(); return "nothing";
                case "static": return String.valueOf(aStatic(this));
                case "argument": return String.valueOf(argument(5));
                case "finally": return String.valueOf(withFinally());
                case "locked": return String.valueOf(locked());
                case "native": Thread.sleep(Long.MAX_VALUE); return "slept";
                case "park":
                    while (!released) {
                        LockSupport.park();  // which may return for no reason
                    }
                    return "parked";
                case "variables":
                    return variables(true, (byte) -8, 'C', (short) -16, -32, -64L, 1.5f, -2.25,
                            "text", new StringBuilder("any"));
                case "counting": return counting();
                case "watched": return watched();
                default: throw new IllegalArgumentException("no kind " + kind);
            }
        }

        boolean aBoolean() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return false;
        }

        byte aByte() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        char aChar() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        short aShort() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        int anInt() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        long aLong() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        float aFloat() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        double aDouble() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        String aString() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return "its own";
        }

        /** Its result and a variable, in slot 1, are of a class that {@code load} defines once more. */
        Passing aPassing() {
            Passing passing = new Passing();
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return passing;
        }

        void aVoid() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            seen = 1;
        }

        static int aStatic(Act act) {
            act.calls++;
            while (!act.released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        int argument(int value) {
            calls++;
            value += 100;
            seen = value;
            while (!released) {
                int[] tick = new int[0];
            }
            return value;
        }

        int withFinally() {
            calls++;
            try {
                while (!released) {
                int[] tick = new int[0];
            }
                return 1;
            } finally {
                seen = 17;
            }
        }

        synchronized int locked() {
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return 1;
        }

        String variables(
                boolean z, byte b, char c, short s, int i, long j, float f, double d,
                String text, StringBuilder any) {
            int later = i + 1;
            long wide = j + 1;
            double real = d + 1;
            Object nothing = null;
            calls++;
            while (!released) {
                int[] tick = new int[0];
            }
            return z + "," + b + "," + (int) c + "," + s + "," + i + "," + j + "," + f + "," + d
                    + "," + text + "," + any + "," + later + "," + wide + "," + real + ","
                    + nothing;
        }

        String counting() {
            calls++;
            while (!released) {
                seen++;
                int[] tick = new int[0];
            }
            return "counted";
        }

        String watched() {
            calls++;
            long sum = 0;
            while (!released) {
                Watched.counter++;
                sum += new Watched().number;
            }
            return sum >= 0 ? "watched" : "overflowed";
        }
    }

    /** A thread with a single frame. */
    static class Alone extends Thread {
        final Act act;

        Alone(Act act, String name) {
            super(name);
            this.act = act;
        }

        @Override
        public void run() {
            act.calls++;
            while (!act.released) {
                int[] tick = new int[0];
            }
            act.result = "returned alone";
        }
    }

    /** Fields to watch. */
    static class Watched {
        static int counter;
        int number = 3;
        final String text = "watched";
    }

    /** Arithmetic alone, so that its bytecodes lie in memory as the compiler wrote them. */
    static int distinct(int value) {
        return ((value * 12345 + 23456) ^ 1234) - value * 3210 + (value << 7) % 4321;
    }

    /** What loaders of its own define and drop. */
    public static class Passing implements Runnable {
        public static int total = 7;
        public int own = 8;

        @Override
        public void run() {
            total += own;
        }

        public static int twice(int value) {
            return 2 * value;
        }
    }

    static class Loader extends ClassLoader {
        Loader() {
            super(null);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String resource = name.replace('.', '/') + ".class";
            try (InputStream in = Frames.class.getClassLoader().getResourceAsStream(resource)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.trim().split(" +"));
            } catch (Throwable problem) {
                answer = "error " + problem;
            }
            System.out.println(answer);
        }
        System.exit(0);
    }

    static String answer(String[] words) throws Exception {
        String name = words.length > 1 ? words[1] : "";
        Act act = acts.get(name);
        switch (words[0]) {
            case "run":
                return begin(name, new Act(words[2]), false);
            case "virtual":
                return begin(name, new Act(words[2]), true);
            case "result":
                act.released = true;
                act.thread.join(20_000);
                return act.thread.isAlive() ? "running" : act.result;
            case "outcome":
                act.thread.join(20_000);
                return act.thread.isAlive() ? "running" : act.result;
            case "progress":
                return act.calls + " " + act.seen;
            case "await":
                for (int tries = 0; act.calls < Integer.parseInt(words[2]) && tries < 2000; tries++) {
                    Thread.sleep(5);
                }
                return act.calls + " " + act.seen;
            case "state":
                return act.thread.getState().name();
            case "holds":
                // Whether somebody is in the monitor of the act.
                Thread taker = new Thread(() -> {
                    synchronized (act) {
                        act.caught = true;
                    }
                });
                act.caught = false;
                taker.setDaemon(true);
                taker.start();
                taker.join(300);
                return String.valueOf(!act.caught);
            case "counter":
                return String.valueOf(Watched.counter);
            case "read":
                return String.valueOf(new Watched().number);
            case "distinct":
                return String.valueOf(distinct(Integer.parseInt(name)));
            case "write":
                Watched.counter = Integer.parseInt(words[1]);
                return "ok";
            case "load":
                Class<?> type = new Loader().loadClass("Frames$Passing");
                loaded.put(name, type.getDeclaredConstructor().newInstance());
                ((Runnable) loaded.get(name)).run();
                return type.getName();
            case "unload":
                WeakReference<Object> watched =
                        new WeakReference<>(loaded.remove(name).getClass().getClassLoader());
                for (int round = 0; round < 20 && watched.get() != null; round++) {
                    System.gc();
                    Thread.sleep(5);
                }
                return watched.get() == null ? "unloaded" : "alive";
            case "churn":
                List<Object> some = new ArrayList<>();
                for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                    some.add(new Loader().loadClass("Frames$Passing")
                            .getDeclaredConstructor().newInstance());
                }
                some.clear();
                System.gc();
                return "ok";
            case "gc":
                System.gc();
                return "ok";
            case "echo":
                return name;
            default:
                throw new IllegalArgumentException("no command " + words[0]);
        }
    }

    static boolean waits(Thread thread) {
        Thread.State state = thread.getState();
        return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
    }

    static String begin(String name, Act act, boolean virtual) throws Exception {
        if (virtual) {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, name);
            act.thread = (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, act);
        } else {
            act.thread =
                    act.kind.equals("alone") ? new Alone(act, name) : new Thread(act, name);
            act.thread.setDaemon(true);
        }
        acts.put(name, act);
        latest = act.thread;
        act.thread.start();
        boolean quiet = act.kind.equals("native") || act.kind.equals("park");
        while (act.thread.isAlive() && (quiet ? !waits(act.thread) : act.calls == 0)) {
            Thread.sleep(1);
        }
        return "running";
    }
}
