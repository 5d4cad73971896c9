/** Does nothing until its standard input ends: a JVM to attach to. */
public class Idle {
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // A test that wants something done takes another program.
        }
        System.out.println("done");
    }
}
