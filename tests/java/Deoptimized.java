import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * {@code run MILLIS} works in a method whose compiled caller believes that a class has no subclass
 * that matters, until the method loads one.
 */
public class Deoptimized {
  static class Only {
    long value() {
      return 1;
    }
  }

  static class Another extends Only {
    @Override
    long value() {
      return 2;
    }
  }

  static volatile long sink;

  static long caller(Only one, long millis) {
    return work(millis) + one.value();
  }

  static long work(long millis) {
    long sum = millis == 0 ? 0 : new Another().value();
    long until = System.nanoTime() + millis * 1_000_000;
    while (System.nanoTime() < until) {
      for (int i = 0; i < 5000; i++) sum = sum * 31 + (sum >>> 7) + i;
    }
    return sum;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Only one = new Only();
    for (int i = 0; i < 20_000; i++) sink += caller(one, 0);
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      sink += caller(one, Long.parseLong(line.split(" ")[1]));
      System.out.println("done");
    }
  }
}
