import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;

/** What is passed by: {@code hits N} calls a method N times and prints the median in nanoseconds. */
public class Stopped {
    static int sum;

    static class Order {
        int total = 5;
    }

    static void hit(int n, String name, Order order) {
        sum += n + name.length() + order.total;
    }

    public static void main(String[] arguments) throws Exception {
        Order order = new Order();
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            long[] times = new long[Integer.parseInt(line.split(" ")[1])];
            for (int i = 0; i < times.length; i++) {
                long began = System.nanoTime();
                hit(i, "name", order);
                times[i] = System.nanoTime() - began;
            }
            Arrays.sort(times);
            System.out.println(times[times.length / 2]);
        }
    }
}
