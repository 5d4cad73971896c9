import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.function.IntUnaryOperator;

/**
 * A program that works all the time, and prints every tenth of a second what that took.
 *
 * <p>A line has nanoseconds of a call of a method with a line that is never reached, nanoseconds of
 * an exception that is made, thrown and caught, calls a second of the thread's processor time over
 * all of as many hot classes as the argument says, and the seconds of processor time that the whole
 * process has used: what others do on the machine changes neither.
 */
public class Probed {
  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  static volatile int limit = Integer.MAX_VALUE;

  int total;

  int hot(int a) {
    if (a > limit) {
      total = a; // never reached
    }
    return total + a;
  }

  static int thrown(int a) {
    try {
      throw new IllegalStateException();
    } catch (IllegalStateException caught) {
      return a + 1;
    }
  }

  /** The template of the hot classes. */
  public static class Blank00000 implements IntUnaryOperator {
    int field;

    public int applyAsInt(int value) {
      for (int i = 0; i < 20; i++) {
        value = step(value);
      }
      return value;
    }

    int step(int value) {
      field += value;
      return value * 31 + field;
    }
  }

  static class Own extends ClassLoader {
    Class<?> define(byte[] bytes) {
      return defineClass(null, bytes, 0, bytes.length);
    }
  }

  static IntUnaryOperator[] made(int count) throws Exception {
    byte[] blank = Probed.class.getResourceAsStream("Probed$Blank00000.class").readAllBytes();
    String text = new String(blank, StandardCharsets.ISO_8859_1);
    Own loader = new Own();
    IntUnaryOperator[] made = new IntUnaryOperator[count];
    for (int i = 0; i < count; i++) {
      byte[] one =
          text.replace("Probed$Blank00000", String.format("Probed$Class%05d", i))
              .getBytes(StandardCharsets.ISO_8859_1);
      made[i] = (IntUnaryOperator) loader.define(one).getConstructor().newInstance();
    }
    return made;
  }

  public static void main(String[] arguments) throws Exception {
    IntUnaryOperator[] classes = made(Integer.parseInt(arguments[0]));
    Probed probed = new Probed();
    System.out.println("ready");
    while (true) {
      // Methods that return: a frame that runs while its class is changed stays interpreted.
      double hot = hots(probed);
      double thrown = throwing();
      double calls = works(classes);
      double spent = SYSTEM.getProcessCpuTime() / 1e9;
      System.out.println(hot + " " + thrown + " " + calls + " " + spent + " " + (kept & 1));
    }
  }

  static int kept;

  static double hots(Probed probed) {
    long began = System.nanoTime();
    int calls = 0;
    for (; calls == 0 || (calls & 1023) != 0 || System.nanoTime() - began < 20_000_000; calls++) {
      kept += probed.hot(calls);
    }
    return (double) (System.nanoTime() - began) / calls;
  }

  static double throwing() {
    long began = System.nanoTime();
    int calls = 0;
    for (; calls == 0 || (calls & 63) != 0 || System.nanoTime() - began < 20_000_000; calls++) {
      kept += thrown(calls);
    }
    return (double) (System.nanoTime() - began) / calls;
  }

  static double works(IntUnaryOperator[] classes) {
    long began = THREADS.getCurrentThreadCpuTime();
    long rounds = 0;
    long took;
    do {
      for (IntUnaryOperator one : classes) {
        kept += one.applyAsInt(kept);
      }
      rounds++;
      took = THREADS.getCurrentThreadCpuTime() - began;
    } while (took < 60_000_000);
    return rounds * classes.length * 1e9 / took;
  }
}
