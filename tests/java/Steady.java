import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Works at a steady rate and tells it, while others do to it what they like.
 *
 * <p>The thread {@code counter} counts, a second one writes down the count every 10 ms. It leaves most
 * of a processor to others, unless the argument {@code spin} has it take a whole one. With {@code calm}
 * the prey threads rest ten times as long between their rounds. What may be
 * written, called, stopped or suspended from outside is {@link Prey} and the threads {@code prey-0}
 * to {@code prey-3}, which start again when something ends them. One command a line on standard
 * input, one line of answer:
 *
 * <ul>
 *   <li>{@code rates N}: the last N counts per 10 ms, each as time:count, the time in nanoseconds
 *       of the clock that does not jump
 *   <li>{@code count}: the whole count so far
 *   <li>{@code prey}: how many prey threads have come round within half a second
 *   <li>{@code stacks}: where these threads are
 *   <li>{@code locks}: whether the locks that belong to nobody can be taken at once
 *   <li>{@code exit}, {@code halt}: leave so
 * </ul>
 */
public class Steady {
    static final int KEPT = 30_000;
    static volatile long count;
    static final long[] times = new long[KEPT];
    static final long[] counts = new long[KEPT];
    static volatile int written;
    static boolean spins;
    static int between;

    static final Prey prey = new Prey();
    static final Spare spare = new Spare();
    static final Preyed[] threads = new Preyed[4];
    static final Object[] locks = {new Object(), new Object(), new Object()};

    public static void main(String[] arguments) throws Exception {
        spins = Arrays.asList(arguments).contains("spin");
        between = Arrays.asList(arguments).contains("calm") ? 10 : 1;
        for (int i = 0; i < threads.length; i++) {
            start(i);
        }
        daemon("counter", Steady::work);
        daemon("sampler", Steady::sample);
        while (written < 5) {
            Thread.sleep(1);
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            System.out.println(answer(line.split(" ")));
        }
        System.exit(0);
    }

    static Thread daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void start(int number) {
        threads[number] = new Preyed(number);
        threads[number].setDaemon(true);
        threads[number].start();
    }

    /** Counts in a field, because its variables may be set to anything. */
    static class Preyed extends Thread {
        volatile long rounds;

        Preyed(int number) {
            super("prey-" + number);
        }

        @Override
        public void run() {
            live(0);
        }
    }

    /** Whatever is thrown into it, a prey thread goes on. */
    static void live(int number) {
        while (true) {
            try {
                prey.round(number, 1L, 2.0, "argument", new int[] {3});
            } catch (Throwable thrown) {
                continue;
            }
        }
    }

    static void pause(long milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
    }

    static void leave(int status) {
        System.exit(status);
    }

    static volatile Object stop;

    static void work() {
        long own = 0;
        while (true) {
            count = ++own;
            if ((own & 0xFFF) == 0) {
                // The interpreter-only VM does not stop at the end of a loop, nor for an object that it
                // has room for, but for every array.
                stop = new int[0];
                if (!spins && (own & 0x3FFF) == 0) {
                    rest();
                }
            }
        }
    }

    static void rest() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException ignored) {
            // An interrupt lets it count on.
        }
    }

    static void sample() {
        long before = count;
        while (true) {
            try {
                Thread.sleep(10);
            } catch (InterruptedException ignored) {
                continue;
            }
            long now = count;
            times[written % KEPT] = System.nanoTime();
            counts[written % KEPT] = now - before;
            before = now;
            written++;
            for (int i = 0; i < threads.length; i++) {
                if (!threads[i].isAlive()) {
                    start(i);
                }
            }
        }
    }

    static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "count":
                return Long.toString(count);
            case "rates":
                int end = written;
                int start = Math.max(0, end - Math.min(Integer.parseInt(words[1]), KEPT - 1));
                StringBuilder text = new StringBuilder();
                for (int i = start; i < end; i++) {
                    text.append(times[i % KEPT]).append(':').append(counts[i % KEPT]).append(' ');
                }
                return text.toString().trim();
            case "prey":
                long[] before = new long[threads.length];
                for (int i = 0; i < before.length; i++) {
                    before[i] = threads[i].rounds;
                }
                int round = 0;
                for (int waited = 0; waited < 500 && round < before.length; waited += 10) {
                    Thread.sleep(10);
                    round = 0;
                    for (int i = 0; i < before.length; i++) {
                        round += threads[i].rounds > before[i] ? 1 : 0;
                    }
                }
                return Integer.toString(round);
            case "stacks":
                StringBuilder stacks = new StringBuilder();
                for (int i = 0; i < threads.length; i++) {
                    stacks.append(threads[i]).append(threads[i].rounds).append(threads[i].getState());
                    stacks.append(Arrays.toString(threads[i].getStackTrace())).append("; ");
                }
                return stacks.toString();
            case "locks":
                Thread taker = daemon("taker", () -> {
                    for (Object lock : locks) {
                        synchronized (lock) {
                            Thread.onSpinWait();
                        }
                    }
                });
                taker.join(2000);
                return taker.isAlive() ? "held" : "free";
            case "exit":
                System.exit(7);
                return "";
            case "halt":
                Runtime.getRuntime().halt(8);
                return "";
            default:
                return "error: " + words[0];
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

        static long wide(long value) throws Exception {
            try {
                return value / field;
            } catch (ArithmeticException zero) {
                throw new Exception(zero);
            }
        }
    }

    interface Called {
        int answer(int question);
    }

    /** All that may be written, called, stopped and suspended from outside. */
    public static class Prey implements Called {
        static final ByteBuffer direct = ByteBuffer.allocateDirect(64);
        static final int CONSTANT = 3;

        static boolean staticBoolean;
        static byte staticByte;
        static char staticChar;
        static short staticShort;
        static int staticInt;
        static long staticLong;
        static float staticFloat;
        static double staticDouble;
        static String staticString = "static";
        static Object staticObject;

        boolean aBoolean;
        byte aByte;
        char aChar;
        short aShort;
        int anInt;
        long aLong;
        float aFloat;
        double aDouble;
        String aString = "text";
        Object anObject;
        final int aFinal = CONSTANT;

        boolean[] booleans = new boolean[3];
        byte[] bytes = new byte[5];
        char[] chars = new char[5];
        short[] shorts = new short[5];
        int[] ints = new int[5];
        long[] longs = new long[5];
        float[] floats = new float[5];
        double[] doubles = new double[5];
        String[] strings = {"a", null, "c"};
        Object[] objects = {this, "b", new int[1]};
        int[][] nested = {{1}, {2, 3}};

        public Prey() {}

        public Prey(int anInt, String aString) {
            this.anInt = anInt;
            this.aString = aString;
        }

        // Bounded whatever its variables are set to.
        int round(int number, long aLong, double aDouble, Object anObject, int[] anArray)
                throws InterruptedException {
            int sum = 0;
            for (int i = 0; i >= 0 && i < 50; i++) {
                sum += deeper(i, 3) + anArray[0] + (int) aLong + (int) aDouble;
            }
            ((Preyed) Thread.currentThread()).rounds++;
            Thread.sleep(between);
            return sum;
        }

        int deeper(int value, int levels) {
            return levels <= 0 ? value : deeper(value + 1, levels - 1);
        }

        public int answer(int question) {
            return question + 1;
        }

        boolean giveBoolean(boolean value) {
            return !value;
        }

        byte giveByte(byte value) {
            return value;
        }

        char giveChar(char value) {
            return value;
        }

        short giveShort(short value) {
            return value;
        }

        int giveInt(int value) {
            return value;
        }

        long giveLong(long value) {
            return value;
        }

        float giveFloat(float value) {
            return value;
        }

        double giveDouble(double value) {
            return value;
        }

        Object giveObject(Object value) {
            return value;
        }

        String giveString(String value, int[] numbers, Prey other) {
            return value;
        }

        void fail() {
            throw new IllegalStateException("as asked");
        }

        static boolean staticGiveBoolean(boolean value) {
            return !value;
        }

        static byte staticGiveByte(byte value) {
            return value;
        }

        static char staticGiveChar(char value) {
            return value;
        }

        static short staticGiveShort(short value) {
            return value;
        }

        static int staticGiveInt(int value) {
            return value;
        }

        static long staticGiveLong(long value) {
            return value;
        }

        static float staticGiveFloat(float value) {
            return value;
        }

        static double staticGiveDouble(double value) {
            return value;
        }

        static Object staticGiveObject(Object value) {
            return value;
        }

        static void staticFail(String message) throws Exception {
            throw new Exception(message);
        }

        native int missing(long value);

        static native void staticMissing();
    }
}
