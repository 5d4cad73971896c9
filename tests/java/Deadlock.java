import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Two deadlocks that stay: {@code first} and {@code second} with monitors, {@code third} and {@code
 * fourth} with a ReentrantLock each, and {@code onlooker}, who waits for a monitor of the first
 * circle without being part of it. The thread {@code sane} holds a lock that nobody wants.
 */
public class Deadlock {
    static final Object one = new One();
    static final Object other = new Other();
    static final ReentrantLock left = new ReentrantLock();
    static final ReentrantLock right = new ReentrantLock();
    static final ReentrantLock unwanted = new ReentrantLock();

    static final class One {}

    static final class Other {}

    public static void main(String[] args) throws Exception {
        CountDownLatch held = new CountDownLatch(5);
        start("first", () -> monitors(one, other, held));
        start("second", () -> monitors(other, one, held));
        start("third", () -> locks(left, right, held));
        start("fourth", () -> locks(right, left, held));
        start("sane", () -> {
            unwanted.lock();
            held.countDown();
            while (true) sleep(1000);
        });
        held.await();
        start("onlooker", () -> {
            synchronized (one) {
                throw new IllegalStateException("nobody gets here");
            }
        });
        // What a name can do to a terminal that obeys it: clear it, colour it, change its title.
        start("evil \u001b[2J\u001b]0;owned\u0007 \u202eterces\r\nforged line", () -> {
            while (true) sleep(1000);
        });
        awaitBlocked();
        System.out.println("ready");
        // With any argument it stays, whatever happens to its standard input.
        while (System.in.read() >= 0 || args.length > 0) sleep(args.length > 0 ? 1000 : 0);
        System.exit(0);
    }

    static void awaitBlocked() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            Thread.State wanted = null;
            switch (thread.getName()) {
                case "first":
                case "second":
                case "onlooker":
                    wanted = Thread.State.BLOCKED;
                    break;
                case "third":
                case "fourth":
                    wanted = Thread.State.WAITING;
                    break;
                default:
            }
            while (wanted != null && thread.getState() != wanted) Thread.sleep(5);
        }
    }

    static void monitors(Object mine, Object theirs, CountDownLatch held) {
        synchronized (mine) {
            meet(held);
            synchronized (theirs) {
                throw new IllegalStateException("nobody gets here");
            }
        }
    }

    static void locks(ReentrantLock mine, ReentrantLock theirs, CountDownLatch held) {
        mine.lock();
        meet(held);
        theirs.lock();
    }

    static void meet(CountDownLatch held) {
        held.countDown();
        try {
            held.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }
}
