import java.io.File;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;

/**
 * Does a little of everything at once, while controllers do to it what they like.
 *
 * <p>The main thread prints a line every 50 ms, the heartbeat, starts workers again that have ended, and
 * leaves when the file {@code stop} lies in the working directory. What may be written, called, stopped or
 * made to leave its frames are the threads {@code walk-0} to {@code walk-7} in methods of {@link Prey}, and
 * its objects.
 */
public class Walked {
    static final AtomicLong rounds = new AtomicLong();
    static final Prey prey = new Prey();
    static final Spare spare = new Spare();
    static final Thread[] workers = new Thread[8];
    static final List<Object> garbage = new ArrayList<>();
    static int room = 1 << 20;

    public static void main(String[] arguments) throws Exception {
        long stack = arguments.length > 0 ? Long.parseLong(arguments[0]) : 0;
        if (arguments.length > 1) {
            room = Integer.parseInt(arguments[1]);
        }
        File stop = new File("stop");
        for (long beat = 0; ; beat++) {
            try {
                for (int i = 0; i < workers.length; i++) {
                    if (workers[i] == null || !workers[i].isAlive()) {
                        int number = i;
                        Thread thread = new Thread(null, () -> live(number), "walk-" + i, stack);
                        thread.setDaemon(true);
                        workers[i] = thread;
                        thread.start();
                    }
                }
                System.out.println("beat " + beat + " " + rounds);
                Thread.sleep(50);
                if (stop.exists()) {
                    break;
                }
            } catch (Throwable thrown) {
                // Out of memory, most likely: the next round may have some.
                continue;
            }
        }
        System.exit(0);
    }

    /** Whatever is thrown into it, a worker goes on. */
    static void live(int number) {
        while (true) {
            try {
                int done = prey.round(number, 3L, 2.5, "argument", new int[] {3, 4});
                if (done == Integer.MIN_VALUE) {
                    return;
                }
                rounds.incrementAndGet();
                Thread.sleep(1);
            } catch (Throwable thrown) {
                continue;
            }
        }
    }

    static class Own extends ClassLoader {
        Own() {
            super(Walked.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass("Walked$Blank", bytes, 0, bytes.length);
        }
    }

    public static class Blank {
        static int given = 40;

        public static int answer() {
            return ++given;
        }
    }

    /** A class that may be redefined to anything, because nothing runs it. */
    public static class Spare {
        static int field = 3;
        String text = "spare";

        int work(int value, Object object) {
            for (int i = 0; i < value; i++) {
                field += object.hashCode() + text.length();
            }
            return field;
        }
    }

    static class Failure extends Exception {
        final int number;

        Failure(int number) {
            super("failure " + number);
            this.number = number;
        }
    }

    /** All that may be written, called, stopped and suspended from outside. */
    public static class Prey {
        static int staticInt;
        static long staticLong;
        static String staticString = "static";
        static Object staticObject = new Object();
        static volatile int watched;
        static byte[] bytes;

        boolean aBoolean;
        byte aByte;
        char aChar;
        short aShort;
        int anInt;
        long aLong;
        float aFloat;
        double aDouble;
        String aString = "text";
        Object anObject = this;
        int[] ints = {1, 2, 3};
        Object[] objects = {this, "b", new int[1], null};
        Map<Object, Object> map = new ConcurrentHashMap<>(Map.of("a", 1, "b", List.of(1, 2)));
        List<Object> list = new ArrayList<>(List.of("x", 2L, 3.0));
        final Object first = new Object();
        final Object second = new Object();

        public Prey() {}

        public Prey(int anInt, String aString) {
            this.anInt = anInt;
            this.aString = aString;
        }

        int round(int number, long aLong, double aDouble, Object anObject, int[] anArray) throws Exception {
            switch (number) {
                case 0: return calls((int) aLong, 0);
                case 1: return allocations(aLong);
                case 2: return exceptions(anObject);
                case 3: return locks(aDouble);
                case 4: return classes();
                case 5: return threads(anArray);
                case 6: return depths(0) + texts("a");
                default: return lambdas(anArray);
            }
        }

        int calls(int value, int levels) {
            int sum = 0;
            for (int i = 0; i >= 0 && i < 20; i++) {
                sum += deeper(i, 3);
                watched = i;
                anInt += watched;
            }
            return levels > 2 ? sum : sum + calls(value, levels + 1);
        }

        int deeper(int value, int levels) {
            return levels <= 0 ? value : deeper(value + 1, levels - 1);
        }

        int allocations(long size) {
            List<Object> kept = new ArrayList<>();
            for (int i = 0; i >= 0 && i < 50; i++) {
                kept.add(new byte[1000 + (i & 15) * 64]);
                kept.add(new Prey(i, "made"));
            }
            synchronized (garbage) {
                garbage.add(new byte[room / 8]);
                if (garbage.size() > 8) {
                    garbage.clear();
                }
            }
            bytes = new byte[room];
            return kept.size();
        }

        int exceptions(Object object) {
            int caught = 0;
            for (int i = 0; i >= 0 && i < 10; i++) {
                try {
                    fail(i);
                } catch (Failure failure) {
                    caught += failure.number;
                } finally {
                    caught++;
                }
            }
            try {
                return ((String) object).length() + caught;
            } catch (ClassCastException | NullPointerException wrong) {
                return caught;
            }
        }

        void fail(int number) throws Failure {
            if (number >= 0) {
                throw new Failure(number);
            }
        }

        int locks(double value) throws InterruptedException {
            synchronized (first) {
                synchronized (second) {
                    anInt++;
                }
                first.wait(1);
                first.notifyAll();
            }
            synchronized (staticString) {
                return (int) value;
            }
        }

        int classes() throws Exception {
            byte[] file;
            try (java.io.InputStream in = Walked.class.getResourceAsStream("Walked$Blank.class")) {
                file = in.readAllBytes();
            }
            Class<?> made = new Own().define(file);
            return (Integer) made.getMethod("answer").invoke(null);
        }

        int threads(int[] values) throws Exception {
            Thread[] some = new Thread[6];
            for (int i = 0; i < some.length; i++) {
                int number = i;
                some[i] = new Thread(() -> deeper(number, 2), "short-" + i);
                some[i].start();
            }
            try {
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> locked(3));
            } catch (NoSuchMethodException none) {
                // before 21
            }
            for (Thread thread : some) {
                thread.join();
            }
            return values[0];
        }

        int locked(int value) {
            synchronized (second) {
                Thread.yield();
                return deeper(value, 2);
            }
        }

        int depths(int depth) {
            try {
                return depth > 100_000 ? depth : depths(depth + 1) + 1;
            } catch (StackOverflowError overflow) {
                return depth;
            }
        }

        int texts(String text) {
            StringBuilder built = new StringBuilder();
            ArrayDeque<Object> queue = new ArrayDeque<>();
            TreeMap<String, Integer> tree = new TreeMap<>();
            for (int i = 0; i >= 0 && i < 30; i++) {
                built.append(text).append(i);
                queue.add(built.length());
                tree.put(built.toString(), i);
            }
            aString = built.toString();
            map.put(aString.length() % 50, new HashMap<>(tree));
            list = new ArrayList<>(queue);
            return aString.hashCode();
        }

        int lambdas(int[] values) {
            int sum = 0;
            for (int value : values) {
                IntUnaryOperator twice = one -> one * 2 + value;
                sum += twice.andThen(one -> one + anInt).applyAsInt(value);
            }
            return sum;
        }

        int giveInt(int value) {
            return value;
        }

        Object giveObject(Object value) {
            return value;
        }

        String giveString(String value, int[] numbers, Prey other) {
            return value;
        }

        long slowly(int milliseconds) throws InterruptedException {
            Thread.sleep(Math.min(Math.max(milliseconds, 0), 50));
            return milliseconds;
        }

        void failing(String message) {
            throw new IllegalStateException(message);
        }

        static double staticGive(double value) {
            return value;
        }
    }
}
