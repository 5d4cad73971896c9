import java.util.Scanner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes threads wait for locks, a known number of times and for a known time at least.
 *
 * <p>Each line of input is a number of rounds, in each of which "waiter" waits 30 ms or longer for the
 * monitor of a Cart and for a lock, both of which "holder" has. The answer is how often and how long,
 * in nanoseconds, as the program has measured it. All the time "stuck" waits for what "keeper" has.
 */
public class Contended {
    static class Cart {
    }

    static class Vault {
    }

    static final Cart CART = new Cart();
    static final Vault VAULT = new Vault();
    static final ReentrantLock LEDGER = new ReentrantLock();
    static volatile int turn;

    static void enter() {
        synchronized (CART) {
            turn = 0;
        }
    }

    static void book() {
        LEDGER.lock();
        LEDGER.unlock();
    }

    static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    static void hold(Thread waiter) throws InterruptedException {
        synchronized (CART) {
            turn = 1;
            await(waiter, Thread.State.BLOCKED);
            Thread.sleep(30);
        }
        while (turn != 0) {
            Thread.sleep(1);
        }
        LEDGER.lock();
        try {
            turn = 2;
            while (!LEDGER.hasQueuedThread(waiter)) {
                Thread.sleep(1);
            }
            Thread.sleep(30);
        } finally {
            LEDGER.unlock();
        }
        while (turn != 0) {
            Thread.sleep(1);
        }
    }

    static long waited;

    static void take() {
        while (!Thread.interrupted()) {
            long began = System.nanoTime();
            if (turn == 1) {
                enter();
                waited += System.nanoTime() - began;
            } else if (turn == 2) {
                book();
                turn = 0;
            } else {
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
            }
        }
    }

    static void keep() {
        synchronized (VAULT) {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException impossible) {
                return;
            }
        }
    }

    static void stick() {
        synchronized (VAULT) {
            System.out.println("never");
        }
    }

    static final String END = "end";
    static volatile boolean ended;

    /** Reads beside the rounds, so that the end of the input ends them, too. */
    static void read(BlockingQueue<String> into) {
        try (Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                into.add(lines.nextLine());
            }
        }
        ended = true;
        into.add(END);
    }

    static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        await(start("keeper", Contended::keep), Thread.State.TIMED_WAITING);
        await(start("stuck", Contended::stick), Thread.State.BLOCKED);
        Thread waiter = start("waiter", Contended::take);
        Thread.currentThread().setName("holder");
        int always = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0;
        for (int i = 0; i < always; ++i) {
            hold(waiter);
        }
        System.out.println("waited " + waited);
        System.out.println("ready");
        BlockingQueue<String> input = new LinkedBlockingQueue<>();
        start("reader", () -> read(input));
        for (String line = input.take(); !line.equals(END); line = input.take()) {
            waited = 0;
            int rounds = Integer.parseInt(line.trim());
            for (int i = 0; i < rounds && !ended; ++i) {
                hold(waiter);
            }
            System.out.println("waited " + waited);
        }
    }
}
