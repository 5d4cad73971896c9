import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Calls small methods, which are compiled for themselves: no caller knows which of many it calls.
 * {@code run MILLIS} runs it.
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
    long until = System.nanoTime() + millis * 1_000_000;
    while (System.nanoTime() < until) sink += sum(shapes);
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
