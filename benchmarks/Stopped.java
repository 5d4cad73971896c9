import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;

/** What is passed by: {@code hits N} calls a method N times and prints the median in nanoseconds. */
public class Stopped {
    static int sum;

    static void hit(int n, String name) {
        sum += n + name.length();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            long[] times = new long[Integer.parseInt(line.split(" ")[1])];
            for (int i = 0; i < times.length; i++) {
                long began = System.nanoTime();
                hit(i, "name");
                times[i] = System.nanoTime() - began;
            }
            Arrays.sort(times);
            System.out.println(times[times.length / 2]);
        }
    }
}
