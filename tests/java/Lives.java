/**
 * Begins and ends in the way that its argument names; prints what it did.
 *
 * <p>A shutdown hook notes when it has run, so that others can see what comes after it.
 */
public class Lives {
    static volatile String stage = "begun";
    static volatile int answer = 17;

    static class Quiet extends RuntimeException {
        Quiet() {
            super("quiet", null, false, false);
        }
    }

    public static void main(String[] arguments) throws Exception {
        stage = "main";
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stage = "hook";
            System.out.println("hook");
            System.out.flush();
        }, "hook"));
        System.out.println("main");
        Thread worker = new Thread(() -> stage = "worked", "worker");
        worker.start();
        worker.join();
        switch (arguments[0]) {
            case "exit":
                System.exit(3);
                break;
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            case "uncaught":
                throw new Quiet();
            default:
                break;
        }
    }

    static String reported(int value) {
        return stage + " " + (value + answer);
    }
}
