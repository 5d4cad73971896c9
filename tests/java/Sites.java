import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Allocates and waits at places of which it keeps count.
 *
 * <p>{@code allocate N} makes N objects at each of two places and prints their bytes; {@code keep N}
 * makes N more, of which it keeps a third, whose bytes it prints; {@code contend
 * N} lets two threads enter a monitor that the main thread holds, N times, and prints the nanoseconds
 * that each waited.
 */
public class Sites {
  static volatile Object kept;
  static final List<byte[]> KEPT = new ArrayList<>();
  static final ReentrantLock LOCK = new ReentrantLock(true);
  static final Condition NEVER = LOCK.newCondition();
  static final Object TILL = new Object();

  static byte[] small() {
    return new byte[1000 - 16];
  }

  static long[] large() {
    return new long[(8000 - 16) / 8];
  }

  static void allocate(int count) {
    for (int i = 0; i < count; i++) {
      kept = small();
      if (i % 2 == 0) {
        kept = large();
      }
    }
  }

  static void keep(int count) {
    for (int i = 0; i < count; i++) {
      byte[] one = new byte[1000 - 16];
      if (i % 3 == 0) {
        KEPT.add(one);
      }
    }
    System.out.println("kept " + 1000L * KEPT.size());
  }

  static long enter() {
    long began = System.nanoTime();
    synchronized (TILL) {
      return System.nanoTime() - began;
    }
  }

  static long lock() {
    long began = System.nanoTime();
    LOCK.lock();
    try {
      return System.nanoTime() - began;
    } finally {
      LOCK.unlock();
    }
  }

  static void await() {
    LOCK.lock();
    try {
      NEVER.await(30, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    } finally {
      LOCK.unlock();
    }
  }

  /** Parks often, and not for a lock, as threads of a pool do that have no work. */
  static void idle() {
    while (!Thread.interrupted()) {
      LockSupport.parkNanos(LOCK, 50_000);
    }
  }

  static void park(int count) throws InterruptedException {
    long[] waited = new long[2];
    Thread idler = new Thread(Sites::idle, "idler");
    idler.start();
    for (int i = 0; i < count; i++) {
      Thread[] threads = new Thread[2];
      LOCK.lock();
      try {
        for (int n = 0; n < 2; n++) {
          int number = n;
          threads[n] = new Thread(() -> waited[number] += lock(), "parker " + n);
          threads[n].start();
        }
        Thread.sleep(20);
      } finally {
        LOCK.unlock();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    idler.interrupt();
    await();
    System.out.println("waited " + (waited[0] + waited[1]));
  }

  static void enterOften(int count) {
    for (int i = 0; i < count; i++) {
      synchronized (TILL) {
        kept = small();
      }
    }
  }

  /** Three threads that want one monitor all the time. */
  static void quarrel(int count) throws InterruptedException {
    Thread[] threads = new Thread[3];
    for (int n = 0; n < threads.length; n++) {
      threads[n] = new Thread(() -> enterOften(count), "quarreller " + n);
      threads[n].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("done");
  }

  static void contend(int count) throws InterruptedException {
    long[] waited = new long[2];
    for (int i = 0; i < count; i++) {
      Thread[] threads = new Thread[2];
      synchronized (TILL) {
        for (int n = 0; n < 2; n++) {
          int number = n;
          threads[n] = new Thread(() -> waited[number] += enter(), "waiter " + n);
          threads[n].start();
        }
        Thread.sleep(20);
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    System.out.println("waited " + (waited[0] + waited[1]));
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      int count = Integer.parseInt(words[1]);
      if (words[0].equals("allocate")) {
        Thread thread = new Thread(() -> allocate(count), "allocating");
        thread.start();
        thread.join();
        System.out.println("allocated " + 1000L * count + " " + 8000L * ((count + 1) / 2));
      } else if (words[0].equals("keep")) {
        keep(count);
      } else if (words[0].equals("park")) {
        park(count);
      } else if (words[0].equals("quarrel")) {
        quarrel(count);
      } else if (words[0].equals("drop")) {
        KEPT.clear();
        System.out.println("dropped");
      } else {
        contend(count);
      }
    }
  }
}
