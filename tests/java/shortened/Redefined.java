import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;






/** A line less with code. */
public class Redefined {
    static int answer(int n) {
        int twice = n * 2; // mark: twice

        return twice; // mark: answer
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
