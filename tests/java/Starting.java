/** Uses half a second of a processor before its main method begins. */
public class Starting {
  static volatile long kept;

  static {
    burn(500_000_000L);
  }

  static void burn(long nanoseconds) {
    java.lang.management.ThreadMXBean threads =
        java.lang.management.ManagementFactory.getThreadMXBean();
    long until = threads.getCurrentThreadCpuTime() + nanoseconds;
    while (threads.getCurrentThreadCpuTime() < until) {
      for (int i = 0; i < 1000; i++) {
        kept += i;
      }
    }
  }

  public static void main(String[] arguments) {
    System.out.println("started");
  }
}
