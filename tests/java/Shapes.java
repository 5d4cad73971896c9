import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Calls small methods, which are compiled for themselves: no caller knows which of many it calls.
 * {@code run MILLIS} runs it. {@code compare MILLIS} compares texts, for which compiled code has
 * instructions of its own, and allocates arrays, for which it calls the VM. {@code load MILLIS} waits
 * for memory, in a method that is compiled into its caller.
 */
public class Shapes {
  interface Shape {
    int sides();
  }

  static class Triangle implements Shape {
    public int sides() {
      return 3;
    }
  }

  static class Square implements Shape {
    public int sides() {
      return 4;
    }
  }

  static class Pentagon implements Shape {
    public int sides() {
      return 5;
    }
  }

  static class Hexagon implements Shape {
    public int sides() {
      return 6;
    }
  }

  static volatile long sink;

  static long sum(Shape[] shapes) {
    long sum = 0;
    for (Shape one : shapes) sum += one.sides();
    return sum;
  }

  static void run(long millis) {
    Shape[] shapes = new Shape[1000];
    for (int i = 0; i < shapes.length; i++) {
      int kind = i * 7 % 4;
      shapes[i] =
          kind == 0
              ? new Triangle()
              : kind == 1 ? new Square() : kind == 2 ? new Pentagon() : new Hexagon();
    }
    long until = used() + millis * 1_000_000;
    while (used() < until) {
      for (int i = 0; i < 8; i++) sink += sum(shapes);
    }
  }

  /** The processor time of this thread, in nanoseconds. */
  static long used() {
    return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  static volatile Object kept;

  static int compare(String[] names) {
    int found = 0;
    for (int i = 1; i < names.length; i++) found += names[i - 1].compareTo(names[i]);
    kept = new byte[20_000];
    return found;
  }

  static void compareAll(long millis) {
    String[] names = new String[1000];
    for (int i = 0; i < names.length; i++) names[i] = "a name of many letters " + i + "\u00e9";
    long until = used() + millis * 1_000_000;
    while (used() < until) {
      for (int i = 0; i < 8; i++) sink += compare(names);
    }
  }

  static class Far {
    long value;
    long p1, p2, p3, p4, p5, p6, p7;

    long loaded() {
      return value;
    }
  }

  /** Each load has to wait for the one before. */
  static long follow(Far[] all) {
    long sum = 0;
    int at = 0;
    for (int i = 0; i < all.length; i++) {
      long value = all[at].loaded();
      if (value > sum) sum ^= value;
      at = (int) value;
    }
    return sum;
  }

  static void load(long millis) {
    Far[] all = new Far[1 << 18];
    for (int i = 0; i < all.length; i++) all[i] = new Far();
    // A way through all of them, in which no processor finds a rule.
    for (int i = 0; i < all.length; i++) {
      all[i].value = (i * 1_103_515_245L + 12_345) & (all.length - 1);
    }
    long until = used() + millis * 1_000_000;
    while (used() < until) {
      for (int i = 0; i < 8; i++) sink += follow(all);
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      long millis = Long.parseLong(words[1]);
      if (words[0].equals("run")) {
        run(millis);
      } else if (words[0].equals("load")) {
        load(millis);
      } else {
        compareAll(millis);
      }
      System.out.println("done");
    }
  }
}
