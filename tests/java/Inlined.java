import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Three methods that are compiled into their caller and share its time 50 : 30 : 20. {@code warm}
 * lets it be compiled, {@code run MILLIS} runs it.
 */
public class Inlined {
  static volatile long sink;

  static long half(long sum) {
    for (int i = 0; i < 5000; i++) sum = sum * 31 + (sum >>> 7) + i;
    return sum;
  }

  static long third(long sum) {
    for (int i = 0; i < 3000; i++) sum = sum * 31 + (sum >>> 7) + i;
    return sum;
  }

  static long fifth(long sum) {
    for (int i = 0; i < 2000; i++) sum = sum * 31 + (sum >>> 7) + i;
    return sum;
  }

  static long all(long sum) {
    return fifth(third(half(sum)));
  }

  static void run(long millis) {
    long until = System.nanoTime() + millis * 1_000_000;
    long sum = 1;
    while (System.nanoTime() < until) {
      for (int i = 0; i < 20; i++) sum = all(sum);
    }
    sink += sum;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      run(Long.parseLong(line.split(" ")[1]));
      System.out.println("done");
    }
  }
}
