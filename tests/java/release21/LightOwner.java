import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A virtual thread has a monitor, for which a platform thread and another virtual one wait: {@code
 * contend N} does it N times. With {@code trade N} two virtual threads take it by turns, N times each.
 * With {@code keep N} a virtual thread has a lock for most of the time, and a platform thread wants
 * it N times.
 */
public class LightOwner {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile boolean kept;

    static void enter() {
        synchronized (MONITOR) {
            Thread.onSpinWait();
        }
    }

    static void hold(Thread[] waiters) {
        synchronized (MONITOR) {
            for (Thread one : waiters) one.start();
            long until = System.nanoTime() + 50_000_000;
            while (System.nanoTime() < until) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException ended) {
                    return;
                }
            }
        }
    }

    static void contend() throws InterruptedException {
        Thread[] waiters = {
            Thread.ofPlatform().name("heavy waiter").unstarted(LightOwner::enter),
            Thread.ofVirtual().name("light waiter").unstarted(LightOwner::enter)
        };
        Thread owner = Thread.ofVirtual().name("light owner").start(() -> hold(waiters));
        owner.join();
        for (Thread one : waiters) one.join();
    }

    static void take(int count) {
        for (int i = 0; i < count; i++) {
            synchronized (MONITOR) {
                long until = System.nanoTime() + 30_000;
                while (System.nanoTime() < until) Thread.onSpinWait();
            }
        }
    }

    static void trade(int count) throws InterruptedException {
        Thread first = Thread.ofVirtual().name("trader 0").start(() -> take(count));
        Thread other = Thread.ofVirtual().name("trader 1").start(() -> take(count));
        first.join();
        other.join();
    }

    static void keep() {
        while (kept) {
            LOCK.lock();
            try {
                Thread.sleep(10);
            } catch (InterruptedException ended) {
                return;
            } finally {
                LOCK.unlock();
            }
            Thread.yield();
        }
    }

    static void want(int count) throws InterruptedException {
        kept = true;
        Thread keeper = Thread.ofVirtual().name("keeper").start(LightOwner::keep);
        for (int i = 0; i < count; i++) {
            Thread.sleep(1);
            LOCK.lock();
            LOCK.unlock();
        }
        kept = false;
        keeper.join();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            int count = Integer.parseInt(words[1]);
            if (words[0].equals("trade")) {
                trade(count);
            } else if (words[0].equals("keep")) {
                want(count);
            } else {
                for (int i = 0; i < count; i++) contend();
            }
            System.out.println("done");
        }
    }
}
