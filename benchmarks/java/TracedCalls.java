import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * Calls two short methods in turns, and prints how many nanoseconds of processor time a call took:
 * what waits for a processor, because others read the records, is none of the call's cost.
 */
public class TracedCalls {
  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  static final int BLOCK = 1024;
  static final long ROUND = 10_000_000;

  int total;
  double price = 2.5;
  boolean closed;
  Object none;
  int[] sizes = new int[3];
  Integer boxed = 42;

  int add(int a, int b) {
    total += a ^ b;
    return total;
  }

  String named(String name, Object other) {
    ++total;
    return name;
  }

  static long adds(TracedCalls calls, int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += calls.add(i, count);
    }
    return sum;
  }

  static class Second extends TracedCalls {}

  static class Third extends TracedCalls {}

  static long names(TracedCalls calls, TracedCalls[] others, int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += calls.named("a name", others[i % others.length]).length();
    }
    return sum;
  }

  public static void main(String[] arguments) throws Exception {
    int threads = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1;
    int classes = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1;
    for (int number = 0; number < threads; number++) {
      new Thread(() -> measure(classes), "caller " + number).start();
    }
    System.out.println("ready");
  }

  private static void measure(int classes) {
    TracedCalls calls = new TracedCalls();
    TracedCalls[] all = {calls, new Second(), new Third()};
    TracedCalls[] others = Arrays.copyOf(all, classes);
    long kept = 0;
    while (true) {
      // Short blocks, so that a tool that makes calls a hundred thousand times longer is seen soon.
      long adds = 0;
      long began = THREADS.getCurrentThreadCpuTime();
      for (long until = System.nanoTime() + ROUND; System.nanoTime() < until; adds += BLOCK) {
        kept += adds(calls, BLOCK);
      }
      double add = (double) (THREADS.getCurrentThreadCpuTime() - began) / adds;
      long named = 0;
      began = THREADS.getCurrentThreadCpuTime();
      for (long until = System.nanoTime() + ROUND; System.nanoTime() < until; named += BLOCK) {
        kept += names(calls, others, BLOCK);
      }
      double each = (double) (THREADS.getCurrentThreadCpuTime() - began) / named;
      System.out.println(add + " " + each + " " + (kept & 1));
    }
  }
}
