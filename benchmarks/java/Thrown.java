import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Throws and catches in a loop, and prints how many nanoseconds of processor time a throw took: an
 * exception that is there already, where C2 makes a jump of it, and one that is made.
 */
public class Thrown {
  static final IllegalStateException READY = new IllegalStateException();
  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  static final int BLOCK = 1024;
  static final long ROUND = 10_000_000;

  static int failing(int a) {
    if ((a & 1) == 0) {
      throw READY;
    }
    throw new IllegalArgumentException();
  }

  static long throwing(int count, int step) {
    long caught = 0;
    for (int i = 0; i < count; i++) {
      try {
        failing(i * 2 + step);
      } catch (IllegalStateException e) {
        caught += i;
      } catch (IllegalArgumentException e) {
        caught -= i;
      }
    }
    return caught;
  }

  static long kept;

  static double took(int step) {
    long throwing = 0;
    long began = THREADS.getCurrentThreadCpuTime();
    for (long until = System.nanoTime() + ROUND; System.nanoTime() < until; throwing += BLOCK) {
      kept += throwing(BLOCK, step);
    }
    return (double) (THREADS.getCurrentThreadCpuTime() - began) / throwing;
  }

  public static void main(String[] arguments) {
    System.out.println("ready");
    while (true) {
      System.out.println(took(0) + " " + took(1) + " " + (kept & 1));
    }
  }
}
