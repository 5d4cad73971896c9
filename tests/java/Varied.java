import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Variables of every type with ever other values, in several threads, while their objects move:
 * {@code run TIMES COLLECTIONS} lets each thread visit at least so often, and until there have been
 * so many collections, and prints how often each condition held, by its number.
 */
public class Varied {
    static final int EVERY = 16;

    static class Node {
        final int number;
        final String name;
        final Node next;
        final Integer boxed;

        Node(int number, Node next) {
            this.number = number;
            this.name = "n" + number;
            this.next = next;
            this.boxed = number + 1000;
        }
    }

    static final AtomicLongArray HELD = new AtomicLongArray(16);
    static volatile Object garbage;
    static volatile boolean running;
    int total;

    static void count(int which, boolean holds) {
        if (holds) {
            HELD.incrementAndGet(which);
        }
    }

    long visit(boolean flag, byte small, char letter, short medium, int n, long wide, float part,
            double fraction, String text, int[] array, Object maybe, Node node, long last) {
        long sum = n + wide + last;
        Node local = node.next;
        int[] own = new int[n + 1];
        count(0, n == 3);
        count(1, wide == (1L << 40) + 4 && last == -4);
        count(2, part == 1.25f);
        count(3, fraction > 3.5 && fraction <= 3.75);
        count(4, !flag && small == -6 && medium == 306);
        count(5, letter == 'g');
        count(6, text.equals("t7"));
        count(7, array != null && array.length == 8);
        count(8, array == null);
        count(9, maybe == null || node.number == 10);
        count(10, local.name.equals("n12"));
        count(11, total > 11 && n == 12);
        count(12, own.length == 14 && n + wide + last == sum);
        count(13, node.next.boxed > 1014);
        return sum + own.length; // mark: visited
    }

    static long rounds(int times, long collections) {
        Varied one = new Varied();
        long sum = 0;
        for (int i = 0; i < times || collected() < collections; i++) {
            int n = i % EVERY;
            garbage = new byte[1000];
            one.total = n;
            sum += one.visit(n != 6, (byte) -n, (char) ('a' + n), (short) (300 + n), n,
                    (1L << 40) + n, n / 4f, n / 4d, "t" + n, n == 9 ? null : new int[n],
                    n == 11 ? null : n % 2 == 0 ? "" + n : new Object(),
                    new Node(n, new Node(n + 1, null)), -n);
            if (i % 100 == 0) {
                one = new Varied();
            }
        }
        return sum;
    }

    static long collected() {
        long count = 0;
        for (GarbageCollectorMXBean one : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += Math.max(0, one.getCollectionCount());
        }
        return count;
    }

    /** A collection each millisecond, until the rounds are over. */
    static void collect() {
        List<Object> kept = new ArrayList<>();
        while (running) {
            for (int i = 0; i < 100; i++) {
                kept.add(new byte[10_000]);
            }
            kept.clear();
            System.gc();
            try {
                Thread.sleep(1);
            } catch (InterruptedException unexpected) {
                throw new AssertionError(unexpected);
            }
        }
    }

    static Thread started(Runnable what, boolean isVirtual) throws Exception {
        if (isVirtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, what);
        }
        Thread made = new Thread(what);
        made.start();
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        started(() -> rounds(1, 0), false).join();
        boolean hasVirtual = Runtime.version().feature() >= 21;
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            int times = Integer.parseInt(words[1]);
            long until = collected() + Long.parseLong(words[2]);
            running = true;
            Thread collector = new Thread(Varied::collect, "collector");
            collector.start();
            for (int i = 0; i < HELD.length(); i++) {
                HELD.set(i, 0);
            }
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(started(() -> rounds(times, until), hasVirtual && i % 2 == 0));
            }
            for (Thread one : threads) {
                one.join();
            }
            running = false;
            collector.join();
            System.out.println(HELD);
        }
        System.exit(0);
    }
}
