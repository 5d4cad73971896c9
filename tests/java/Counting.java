/** What probes in a whole program call: it counts, and says how often when the program ends. */
public class Counting {
  private static final long[] COUNTS = new long[8];

  static {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  StringBuilder all = new StringBuilder("counted");
                  for (long one : COUNTS) {
                    all.append(' ').append(one);
                  }
                  System.err.println(all);
                }));
  }

  public static long entered(int site, Object self, Object[] passed) {
    COUNTS[0]++;
    return site;
  }

  public static void left(int site, Object value, long began) {
    COUNTS[1]++;
  }

  public static void unwound(int site, Throwable value, long began) {
    COUNTS[2]++;
  }

  public static void line(int line, Object self) {
    COUNTS[3]++;
  }

  public static void field(int site, Object target, Object value) {
    COUNTS[4]++;
  }

  public static void called(int site, Object target, Object value) {
    COUNTS[5]++;
  }

  public static void made(int site, Object value) {
    COUNTS[6]++;
  }

  public static void monitor(int site, Object target) {
    COUNTS[7]++;
  }
}
