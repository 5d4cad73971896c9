import java.util.Scanner;

/** Uses processor time in native code, in a library that it loads on command. */
public class NativeTime {
    /** In the library, or in machine code that it makes. */
    static native void use(int milliseconds, boolean made);

    /** In such code, on a thread that the library brings. */
    static native void bring(int milliseconds);

    public static void main(String[] arguments) {
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            switch (words[0]) {
                case "load":
                    System.load(words[1]);
                    break;
                case "library":
                    use(Integer.parseInt(words[1]), false);
                    break;
                case "made":
                    use(Integer.parseInt(words[1]), true);
                    break;
                default:
                    bring(Integer.parseInt(words[1]));
            }
            System.out.println("done");
        }
    }
}
