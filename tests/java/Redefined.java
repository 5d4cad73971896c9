/**
 * Redefined, while breakpoints are in it, to what {@code moved} and {@code shortened} have under
 * this name. Lines have marks, by which the tests know them; they are the same in all three.
 */
class Answer {
    static int answer(int n) {
        int twice = n * 2; // mark: twice
        int more = twice + 1; // mark: more
        return more; // mark: answer
    }
}

/** {@code call N} lets a thread named {@code caller} ask for {@code answer(N)}, and prints it. */
public class Redefined {
    public static void main(String[] arguments) throws Exception {
        Answer.answer(0);
        System.out.println("ready");
        java.util.Scanner commands = new java.util.Scanner(System.in);
        while (commands.hasNextLine()) {
            int[] result = new int[1];
            int number = Integer.parseInt(commands.nextLine().split(" ")[1]);
            Thread caller = new Thread(() -> result[0] = Answer.answer(number), "caller");
            caller.start();
            caller.join();
            System.out.println(result[0]);
        }
    }
}
