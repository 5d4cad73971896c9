import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits for locks often, and at times for long, and keeps count of it.
 *
 * <p>{@code monitor MILLISECONDS} has pairs of threads, of which one holds a monitor and the other
 * waits for it: each for a millisecond or so, but in one pair for half a second. {@code lock} does
 * the same with locks of the class library. Both answer how many short waits there were, and the
 * nanoseconds of these and of the long ones.
 */
public class FrequentWaits {
  static final int PAIRS = 3;
  static final long LONG = 500_000_000;
  static final AtomicLong waits = new AtomicLong();
  static final AtomicLong shortly = new AtomicLong();
  static final AtomicLong atLength = new AtomicLong();

  static class Pair {
    final Object monitor = new Object();
    final ReentrantLock lock = new ReentrantLock();
    final Random chance;
    final long until;
    final boolean isLong;
    final boolean isMonitor;
    volatile long round;
    volatile long answered;

    Pair(int number, long until, boolean isLong, boolean isMonitor) {
      this.chance = new Random(number);
      this.until = until;
      this.isLong = isLong;
      this.isMonitor = isMonitor;
    }

    static void pause(long nanoseconds) {
      long until = System.nanoTime() + nanoseconds;
      for (long left; (left = until - System.nanoTime()) > 0; ) {
        LockSupport.parkNanos(left);
      }
    }

    void hold(Thread waiter) {
      round++;
      LockSupport.unpark(waiter);
      pause(isLong ? LONG : 200_000 + (long) (chance.nextDouble() * 1_600_000));
    }

    void holdOften(Thread waiter) {
      while (System.nanoTime() < until) {
        if (isMonitor) {
          synchronized (monitor) {
            hold(waiter);
          }
        } else {
          lock.lock();
          try {
            hold(waiter);
          } finally {
            lock.unlock();
          }
        }
        while (answered < round) {
          Thread.onSpinWait();
        }
      }
      round = Long.MAX_VALUE;
      LockSupport.unpark(waiter);
    }

    long enter() {
      long began = System.nanoTime();
      synchronized (monitor) {
        return System.nanoTime() - began;
      }
    }

    long enterLong() {
      return enter();
    }

    long lock() {
      long began = System.nanoTime();
      lock.lock();
      try {
        return System.nanoTime() - began;
      } finally {
        lock.unlock();
      }
    }

    long lockLong() {
      return lock();
    }

    void waitOften() {
      for (long seen = 0; ; ) {
        while (round == seen) {
          LockSupport.park();
        }
        seen = round;
        if (seen == Long.MAX_VALUE) {
          return;
        }
        if (isLong) {
          atLength.addAndGet(isMonitor ? enterLong() : lockLong());
        } else {
          shortly.addAndGet(isMonitor ? enter() : lock());
          waits.incrementAndGet();
        }
        answered = seen;
      }
    }
  }

  static String run(boolean isMonitor, long nanoseconds) throws InterruptedException {
    long until = System.nanoTime() + nanoseconds;
    Thread[] threads = new Thread[2 * (PAIRS + 1)];
    waits.set(0);
    shortly.set(0);
    atLength.set(0);
    for (int i = 0; i <= PAIRS; i++) {
      Pair pair = new Pair(i, until, i == PAIRS, isMonitor);
      String kind = i == PAIRS ? "long" : "short";
      Thread waiter = new Thread(pair::waitOften, kind + " waiter");
      threads[2 * i] = waiter;
      threads[2 * i + 1] = new Thread(() -> pair.holdOften(waiter), kind + " owner");
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    return waits + " " + shortly + " " + atLength;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = input.readLine()) != null; ) {
      String[] words = line.split(" ");
      long nanoseconds = Long.parseLong(words[1]) * 1_000_000;
      System.out.println("waited " + run(words[0].equals("monitor"), nanoseconds));
    }
  }
}
