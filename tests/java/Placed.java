import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Has every kind of place in its code: each line of its input is a number, which it works off. */
public class Placed {
  static class Thing {
    int size;
    static String last = "none";

    Thing(int size) {
      this.size = size;
    }

    int grown(int by) {
      size += by;
      return size;
    }

    static String named(String text, long number) {
      return text + number;
    }
  }

  private final Thing thing = new Thing(1);
  private final Object lock = new Object();
  private int[] numbers = {};

  private void write(int number) {
    thing.size = number;
    Thing.last = "number " + number;
  }

  private int read() {
    return thing.size + Thing.last.length();
  }

  private int guarded(int number) {
    synchronized (lock) {
      return number + 1;
    }
  }

  private void make(int number) {
    Thing made = new Thing(number);
    numbers = new int[number];
    numbers = made.size > 3 ? new int[made.size] : numbers;
  }

  private int check(int number) {
    if (number % 2 == 1) {
      throw new IllegalStateException("odd " + number);
    }
    return number;
  }

  private int checked(int number) {
    try {
      return check(number);
    } catch (IllegalStateException thrown) {
      return -number;
    }
  }

  private String call(int number) {
    thing.grown(number);
    return Thing.named("thing", number);
  }

  private void pause(int milliseconds) throws InterruptedException {
    Thread.sleep(milliseconds);
  }

  private void work(int number) throws InterruptedException {
    write(number);
    read();
    guarded(number);
    make(number);
    checked(number);
    call(number);
    pause(number % 2);
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Placed placed = new Placed();
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      int number = Integer.parseInt(line);
      for (int i = 0; i < number; i++) {
        placed.work(i);
      }
      System.out.println("worked");
    }
  }
}
