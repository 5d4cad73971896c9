import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * What is debugged: orders that grow, spoken to line by line.
 *
 * <p>{@code run N} adds N times and prints the nanoseconds that one takes; {@code work MS} computes
 * for so many milliseconds and prints how often in a second of its thread's processor time, which
 * other programs hardly change; {@code threads N} starts N threads that
 * wait. In between another thread adds once a millisecond if {@code beat} asked for it.
 */
public class DebuggedWork {
    static volatile boolean beats;
    static int sink;
    static int rounds;

    static class Order {
        final String customer = "Ada";
        int total;
        long[] prices = {3, 5, 8};
        List<String> lines = new ArrayList<>(List.of("tea", "cake", "bread"));

        int add(int n) {
            int price = n % 7;
            String label = customer;
            total = (total + price) % 1000; // ADD
            sink += label.length();
            for (int left = rounds; left > 0; left--) {
                price += left;
                total += price % 3;
                sink += total;
            }
            return total;
        }
    }

    static int deep(Order order, int n, int depth) {
        if (depth > 0) {
            return deep(order, n, depth - 1) + 1;
        }
        return order.add(n);
    }

    static int computed(int n) {
        int found = n;
        for (int i = 0; i < 2000; i++) {
            found = found * 31 + (found >>> 7);
        }
        return found;
    }

    static void beat() {
        Order order = new Order();
        for (int n = 0; ; n++) {
            if (beats) {
                deep(order, n, 15);
            }
            LockSupport.parkNanos(500_000);
        }
    }

    static long run(Order order, int times) {
        long began = System.nanoTime();
        for (int n = 0; n < times; n++) {
            order.add(n);
        }
        return (System.nanoTime() - began) / times;
    }

    static long work(int milliseconds) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long began = threads.getCurrentThreadCpuTime();
        long until = System.nanoTime() + milliseconds * 1_000_000L;
        long rounds = 0;
        while (System.nanoTime() < until) {
            sink += computed((int) rounds++);
        }
        return rounds * 1_000_000_000L / (threads.getCurrentThreadCpuTime() - began);
    }

    public static void main(String[] arguments) throws Exception {
        Thread beating = new Thread(DebuggedWork::beat, "beat");
        beating.setDaemon(true);
        beating.start();
        Order order = new Order();
        run(order, 200_000);
        work(500);
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            int number = Integer.parseInt(words[1]);
            switch (words[0]) {
                case "run":
                    System.out.println(run(order, number));
                    break;
                case "work":
                    System.out.println(work(number));
                    break;
                case "beat":
                    rounds = 10 * number; // for who steps through them
                    beats = number != 0;
                    System.out.println(number);
                    break;
                default:
                    for (int i = 0; i < number; i++) {
                        Thread waits = new Thread(null, LockSupport::park, "waits-" + i, 64 << 10);
                        waits.setDaemon(true);
                        waits.start();
                    }
                    System.out.println(number);
            }
        }
        System.exit(0);
    }
}
