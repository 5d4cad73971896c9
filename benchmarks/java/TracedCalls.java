import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Calls two short methods in turns, and prints how many nanoseconds of processor time a call took:
 * what waits for a processor, because others read the records, is none of the call's cost.
 */
public class TracedCalls {
  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  int total;

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

  static long names(TracedCalls calls, int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += calls.named("a name", calls).length();
    }
    return sum;
  }

  public static void main(String[] arguments) throws Exception {
    int threads = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1;
    for (int number = 0; number < threads; number++) {
      new Thread(TracedCalls::measure, "caller " + number).start();
    }
    System.out.println("ready");
  }

  private static void measure() {
    TracedCalls calls = new TracedCalls();
    long kept = 0;
    while (true) {
      // As many calls as take some milliseconds, whatever is traced.
      int count = 64;
      long took = 0;
      while (took < 5_000_000) {
        count *= 2;
        long began = THREADS.getCurrentThreadCpuTime();
        kept += adds(calls, count);
        took = THREADS.getCurrentThreadCpuTime() - began;
      }
      int names = Math.max(count / 16, 64);
      long began = THREADS.getCurrentThreadCpuTime();
      kept += names(calls, names);
      double each = (double) (THREADS.getCurrentThreadCpuTime() - began) / names;
      System.out.println((double) took / count + " " + each + " " + (kept & 1));
    }
  }
}
