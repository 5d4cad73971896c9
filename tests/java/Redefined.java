import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * A class that is redefined while breakpoints are in it; {@code moved/Redefined.java} and {@code
 * shortened/Redefined.java} are what it is redefined to. Lines have marks, by which the tests know
 * them. {@code call N} lets a thread named {@code caller} call {@code answer(N)}, and answers what
 * that gave.
 */
public class Redefined {
    static int answer(int n) {
        int twice = n * 2; // mark: twice
        int more = twice + 1; // mark: more
        return more; // mark: answer
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            int[] result = new int[1];
            int number = Integer.parseInt(line.split(" ")[1]);
            Thread caller = new Thread(() -> result[0] = answer(number), "caller");
            caller.start();
            caller.join();
            System.out.println(result[0]);
        }
    }
}
