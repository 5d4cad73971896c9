import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Handles requests of which it knows what each took of a processor, or of something else.
 *
 * <p>{@code serve N} lets two threads handle N rounds of requests each, and prints the nanoseconds of
 * each path; {@code sleep N} (wall-clock time), {@code allocate N} (bytes, of which those of orders
 * stay), {@code enter N} (nanoseconds of waiting for a monitor) and {@code lock N} (the same for a
 * lock of java.util.concurrent) likewise; {@code hang} handles one that does not end until the next
 * line, with others within it; {@code long} handles requests whose paths are long.
 */
public class Serving {
  interface Named {}

  static final class Request implements Named {
    final String path;
    final int work;

    Request(String path, int work) {
      this.path = path;
      this.work = work;
    }
  }

  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  static final Map<String, LongAdder> SPENT = new TreeMap<>();
  static volatile long kept;
  static volatile boolean hanging;

  static final Object MONITOR = new Object();
  static final ReentrantLock LOCK = new ReentrantLock(true);
  static final ThreadLocal<long[]> USED = ThreadLocal.withInitial(() -> new long[1]);
  static final List<byte[]> KEPT = new ArrayList<>();
  static volatile Object made;
  static volatile String how = "serve";

  static void use(String path, int amount) {
    long began = System.nanoTime();
    if (how.equals("serve") || how.equals("hang") || how.equals("long")) {
      burn(amount * 100_000L);
    } else if (how.equals("sleep")) {
      LockSupport.parkNanos(amount * 1_000_000L);
      USED.get()[0] += System.nanoTime() - began;
    } else if (how.equals("allocate")) {
      allocate(path, amount);
    } else if (how.equals("enter")) {
      synchronized (MONITOR) {
        USED.get()[0] += System.nanoTime() - began;
        LockSupport.parkNanos(amount * 500_000L);
      }
    } else {
      LOCK.lock();
      USED.get()[0] += System.nanoTime() - began;
      LockSupport.parkNanos(amount * 500_000L);
      LOCK.unlock();
    }
  }

  static void allocate(String path, int amount) {
    for (int i = 0; i < 10 * amount; i++) {
      byte[] one = new byte[1008];
      made = one;
      if (path.equals("/order")) {
        synchronized (KEPT) {
          KEPT.add(one);
        }
      }
    }
    USED.get()[0] += 10240L * amount;
  }

  static long used() {
    return how.equals("serve") ? THREADS.getCurrentThreadCpuTime() : USED.get()[0];
  }

  static void burn(long nanoseconds) {
    long until = THREADS.getCurrentThreadCpuTime() + nanoseconds;
    long value = kept;
    while (THREADS.getCurrentThreadCpuTime() < until) {
      for (int i = 0; i < 1000; i++) {
        value = value * 31 + i;
      }
    }
    kept = value;
  }

  void pass(Named request) {
    handle((Request) request);
  }

  void handle(Request request) {
    use(request.path, request.work);
    if (request.path.equals("/order")) {
      handle(new Request("/inner", 1));
    }
    if (request.path.equals("/broken")) {
      throw new IllegalStateException(request.path);
    }
  }

  void hang(Request request) {
    while (hanging) {
      handle(new Request("/within", 10));
      LockSupport.parkNanos(1_000_000); // two of these would take all of a machine
    }
  }

  void serveLong(int rounds) {
    for (int round = 0; round < rounds; round++) {
      for (int length : new int[] {300, 600}) {
        handle(new Request("/" + "x".repeat(length) + "/a", 10));
        handle(new Request("/" + "x".repeat(length) + "/b", 10));
      }
    }
  }

  void serve(int rounds) {
    Request[] requests = {
      new Request("/order", 39), new Request("/search", 20), new Request("/broken", 10)
    };
    for (int round = 0; round < rounds; round++) {
      for (Request request : requests) {
        long began = used();
        try {
          pass(request);
        } catch (IllegalStateException expected) {
          kept++;
        }
        spend(request.path, began);
      }
      long began = used();
      use("none", 30);
      spend("none", began);
    }
  }

  static void spend(String path, long began) {
    SPENT.get(path).add(used() - began);
  }

  public static void main(String[] arguments) throws Exception {
    for (String path : new String[] {"/order", "/search", "/broken", "none"}) {
      SPENT.put(path, new LongAdder());
    }
    Serving serving = new Serving();
    System.out.println("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      SPENT.values().forEach(LongAdder::reset);
      Thread[] threads = new Thread[2];
      hanging = words[0].equals("hang");
      how = words[0];
      KEPT.clear();
      for (int i = 0; i < threads.length; i++) {
        Runnable work =
            hanging
                ? () -> serving.hang(new Request("/hanging", 0))
                : how.equals("long")
                ? () -> serving.serveLong(Integer.parseInt(words[1]))
                : () -> serving.serve(Integer.parseInt(words[1]));
        threads[i] = new Thread(work, "server " + i);
        threads[i].start();
      }
      if (hanging) {
        System.out.println("hanging");
        input.readLine();
        hanging = false;
      }
      for (Thread thread : threads) {
        thread.join();
      }
      StringBuilder said = new StringBuilder("spent");
      SPENT.forEach((path, spent) -> said.append(' ').append(path).append(' ').append(spent));
      System.out.println(said);
    }
  }
}
