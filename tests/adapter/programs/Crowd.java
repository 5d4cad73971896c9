import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** 100,000 virtual threads that wait, one that works, and a pool. */
public class Crowd {
    static volatile int worked;

    static int work(int number) throws InterruptedException {
        int twice = 2 * number; // WORK
        Thread.sleep(5);
        return twice;
    }

    public static void main(String[] arguments) throws Exception {
        int most = Integer.parseInt(arguments[0]);
        CountDownLatch started = new CountDownLatch(most);
        for (int i = 0; i < most; i++) {
            Thread.ofVirtual().name("waiting-" + i).start(() -> {
                started.countDown();
                while (true) {
                    LockSupport.park();
                }
            });
        }
        started.await();
        var pool = java.util.concurrent.Executors.newFixedThreadPool(8);
        for (int i = 0; i < 8; i++) {
            pool.submit(() -> System.out.flush());
        }
        Thread.ofVirtual().name("worker").start(() -> {
            for (int number = 1; ; number++) {
                try {
                    worked += work(number) / number;
                } catch (InterruptedException end) {
                    return;
                }
                System.out.println("worked " + number);
            }
        });
        new CountDownLatch(1).await();
    }
}
