/** Six threads want one lock all the time, and each keeps it for a while: none gets it at once. */
public class Queued {
    static class Till {}

    static final Till TILL = new Till();

    static void pay() throws InterruptedException {
        synchronized (TILL) {
            Thread.sleep(30);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 6; number++) {
            Thread thread = new Thread(() -> {
                try {
                    while (true) {
                        pay();
                        Thread.sleep(5);  // lets another one have it
                    }
                } catch (InterruptedException ends) {
                    return;
                }
            }, "customer-" + number);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(200);
        System.out.println("ready");
        System.in.read();
    }
}
