import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What is stopped at: times itself how long a thread is held up.
 *
 * <p>{@code hits N} calls a method N times and prints the median time of a call in nanoseconds;
 * {@code classes N} defines N classes in one loader.
 */
public class Answered {
    static int sum;

    static void hit() {
        sum++;
    }

    public static class Blank {
        int field;

        int method(int value) {
            return value + field;
        }
    }

    static class Own extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** The class file under names of the same length. */
    static byte[][] renamed(byte[] blank, int count) {
        String text = new String(blank, StandardCharsets.ISO_8859_1);
        byte[][] made = new byte[count][];
        for (int i = 0; i < count; i++) {
            String name = String.format("Answered$%05d", i);
            made[i] = text.replace("Answered$Blank", name).getBytes(StandardCharsets.ISO_8859_1);
        }
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        byte[] blank =
                Answered.class.getResourceAsStream("Answered$Blank.class").readAllBytes();
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            long[] times = new long[Integer.parseInt(words[1])];
            Own loader = words[0].equals("classes") ? new Own() : null;
            byte[][] classes = loader == null ? null : renamed(blank, times.length);
            for (int i = 0; i < times.length; i++) {
                long began = System.nanoTime();
                if (loader == null) {
                    hit();
                } else {
                    loader.define(classes[i]);
                }
                times[i] = System.nanoTime() - began;
            }
            Arrays.sort(times);
            System.out.println(times[times.length / 2]);
        }
    }
}
