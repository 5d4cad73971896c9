import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that each do one thing until the end: sleep, park, wait in a monitor and for one, read, or
 * work. {@code idle N} starts N more that park, {@code virtual N} starts N virtual threads, a quarter
 * of which sleeps while the rest waits for a latch, {@code work MILLIS} works on the main
 * thread and prints the processor time that it got, and
 * {@code pulse N} lets a thread work and sleep in turn, N times, and prints the nanoseconds of each.
 */
public class Waiting {
  static final Object MONITOR = new Object();
  static final Object CONDITION = new Object();
  static final CountDownLatch NEVER = new CountDownLatch(1);
  static volatile long sink;

  interface Body {
    void run() throws Exception;
  }

  static void start(String name, Body body) {
    Thread thread =
        new Thread(
            () -> {
              try {
                body.run();
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
  }

  static void sleeping() throws Exception {
    while (true) Thread.sleep(1_000_000);
  }

  static void parked() {
    while (true) LockSupport.park();
  }

  static void waiting() throws Exception {
    synchronized (CONDITION) {
      while (true) CONDITION.wait();
    }
  }

  static void holding() throws Exception {
    synchronized (MONITOR) {
      sleeping();
    }
  }

  static void blocked() {
    synchronized (MONITOR) {
      sink++;
    }
  }

  /** Half of the time: who watches sees no more of a thread that works all of it. */
  static void working() throws Exception {
    long sum = 0;
    while (true) {
      long until = System.nanoTime() + 10_000_000;
      while (System.nanoTime() < until) {
        for (int i = 0; i < 100_000; i++) sum = sum * 31 + (sum >>> 7) + i;
      }
      sink += sum;
      Thread.sleep(10);
    }
  }

  static void workUntil(long until) {
    long sum = 0;
    while (System.nanoTime() < until) {
      for (int i = 0; i < 1000; i++) sum = sum * 31 + (sum >>> 7) + i;
    }
    sink += sum;
  }

  static void pulseWork() {
    workUntil(System.nanoTime() + 7_000_000);
  }

  static void pulseSleep() throws Exception {
    Thread.sleep(21);
  }

  static void virtualSleep() throws Exception {
    Thread.sleep(1_000_000);
  }

  static void virtualAwait() throws Exception {
    NEVER.await();
  }

  static void pulse(int count) throws Exception {
    long[] spent = new long[2];
    Thread thread =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < count; i++) {
                  long began = System.nanoTime();
                  pulseWork();
                  long between = System.nanoTime();
                  pulseSleep();
                  spent[0] += between - began;
                  spent[1] += System.nanoTime() - between;
                }
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            "pulse");
    thread.start();
    thread.join();
    System.out.println("spent " + spent[0] + " " + spent[1]);
  }

  static void startVirtual(int number) throws Exception {
    Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
    Class<?> type = Class.forName("java.lang.Thread$Builder");
    builder = type.getMethod("name", String.class).invoke(builder, "task-" + number % 10);
    Method start = type.getMethod("start", Runnable.class);
    boolean sleeps = number % 4 == 0;
    Runnable body =
        () -> {
          try {
            if (sleeps) virtualSleep();
            else virtualAwait();
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        };
    start.invoke(builder, body);
  }

  public static void main(String[] arguments) throws Exception {
    start("sleeper", Waiting::sleeping);
    start("parker", Waiting::parked);
    start("waiter", Waiting::waiting);
    start("holder", Waiting::holding);
    Thread.sleep(50);
    start("blocked", Waiting::blocked);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      int count = words.length > 1 ? Integer.parseInt(words[1]) : 0;
      switch (words[0]) {
        case "idle":
          for (int i = 0; i < count; i++) start("idle " + i, Waiting::parked);
          System.out.println("done");
          break;
        case "virtual":
          for (int i = 0; i < count; i++) startVirtual(i);
          Thread.sleep(500);
          System.out.println("done");
          break;
        case "busy":
          start("worker", Waiting::working);
          System.out.println("done");
          break;
        case "work":
          {
            var beans = java.lang.management.ManagementFactory.getThreadMXBean();
            long before = beans.getCurrentThreadCpuTime();
            workUntil(System.nanoTime() + count * 1_000_000L);
            System.out.println("used " + (beans.getCurrentThreadCpuTime() - before));
            break;
          }
        case "rounds":
          {
            long began = System.nanoTime();
            long rounds = 0;
            while (System.nanoTime() - began < count * 1_000_000L) {
              workUntil(0);
              for (int i = 0; i < 20_000; i++) sink = sink * 31 + (sink >>> 7) + i;
              rounds++;
            }
            System.out.println("rounds " + rounds);
            break;
          }
        case "pulse":
          pulse(count);
          break;
        default:
          System.out.println("?");
      }
    }
  }
}
