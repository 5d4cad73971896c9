import java.util.concurrent.atomic.LongAdder;

/** What probes in a whole program call: it counts, and says how often when the program ends. */
public class Counting {
  private static final LongAdder[] COUNTS = new LongAdder[8];

  static {
    for (int i = 0; i < COUNTS.length; i++) {
      COUNTS[i] = new LongAdder();
    }
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  StringBuilder all = new StringBuilder("counted");
                  for (LongAdder one : COUNTS) {
                    all.append(' ').append(one);
                  }
                  System.err.println(all);
                }));
  }

  public static long entered(int site, Object self, Object[] passed) {
    COUNTS[0].increment();
    return site;
  }

  public static void left(int site, Object value, long began) {
    COUNTS[1].increment();
  }

  public static void unwound(int site, Throwable value, long began) {
    COUNTS[2].increment();
  }

  public static void line(int line, Object self) {
    COUNTS[3].increment();
  }

  public static void field(int site, Object target, Object value) {
    COUNTS[4].increment();
  }

  public static void called(int site, Object target, Object value) {
    COUNTS[5].increment();
  }

  public static void made(int site, Object value) {
    COUNTS[6].increment();
  }

  public static void monitor(int site, Object target) {
    COUNTS[7].increment();
  }
}
