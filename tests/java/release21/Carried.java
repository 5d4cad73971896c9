import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that use processor time and memory in known shares. */
public class Carried {
    static volatile long sink;
    static volatile byte[] kept;

    /** About a millisecond. */
    static void unit() {
        long sum = 0;
        for (int i = 0; i < 800_000; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        sink += sum;
    }

    static void units(int count) {
        for (int i = 0; i < count; i++) {
            unit();
            Thread.yield();
        }
    }

    static void allocate(int count) {
        for (int i = 0; i < count; i++) {
            kept = new byte[1000];
        }
    }

    static void join(List<Thread> threads) throws InterruptedException {
        for (Thread one : threads) one.join();
    }

    /** Three that have names take turns. */
    static void named(int turns) throws Exception {
        var threads = new ArrayList<Thread>();
        String[] names = {"one", "two", "seven 七"};
        int[] shares = {1, 2, 7};
        for (int i = 0; i < names.length; i++) {
            int share = shares[i];
            threads.add(
                    Thread.ofVirtual()
                            .name(names[i])
                            .start(
                                    () -> {
                                        for (int turn = 0; turn < turns; turn++) units(share);
                                    }));
        }
        join(threads);
    }

    /** Many, of which each uses a little. */
    static void many(int count, int units) throws Exception {
        try (var tasks = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < count; i++) tasks.submit(() -> units(units));
        }
    }

    /** Some allocate, one three times what another does. */
    static void allocating(int count) throws Exception {
        join(
                List.of(
                        Thread.ofVirtual().name("little").start(() -> allocate(count)),
                        Thread.ofVirtual().name("much").start(() -> allocate(3 * count))));
    }

    /** Mounts and unmounts as fast as it can. */
    static long storm(int count, double seconds) throws Exception {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        var turns = new AtomicLong();
        var threads = new ArrayList<Thread>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread.Builder.OfVirtual made = Thread.ofVirtual();
            if (number % 2 == 0) made.name("storm " + number);
            threads.add(
                    made.start(
                            () -> {
                                long mine = 0;
                                while (System.nanoTime() < until) {
                                    if (number % 4 == 0) LockSupport.parkNanos(1);
                                    else Thread.yield();
                                    if (++mine % 64 == 0) kept = new byte[100 + number];
                                }
                                turns.addAndGet(mine);
                            }));
        }
        join(threads);
        return turns.get();
    }

    /** The same with threads that live for a moment. */
    static long births(double seconds) throws Exception {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        long born = 0;
        while (System.nanoTime() < until) {
            var threads = new ArrayList<Thread>();
            for (int i = 0; i < 200; i++) threads.add(Thread.startVirtualThread(() -> units(1)));
            join(threads);
            born += threads.size();
        }
        return born;
    }

    public static void main(String[] arguments) throws Exception {
        named(20);
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            long answer = 0;
            switch (words[0]) {
                case "named" -> named(Integer.parseInt(words[1]));
                case "many" -> many(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                case "allocating" -> allocating(Integer.parseInt(words[1]));
                case "storm" ->
                        answer =
                                storm(Integer.parseInt(words[1]), Double.parseDouble(words[2]));
                case "births" -> answer = births(Double.parseDouble(words[1]));
                default -> throw new IllegalArgumentException(words[0]);
            }
            System.out.println("did " + answer);
        }
    }
}
