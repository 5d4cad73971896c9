import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntSupplier;

/** Calls methods when it is asked to: each line of its input is a request, each has an answer. */
public class Traced {
  enum Color {
    RED,
    GREEN
  }

  interface Priced {
    double price(int pieces);
  }

  /** A field of each type, in a class that others extend. */
  static class Item {
    boolean sold = true;
    byte small = -2;
    char grade = 'x';
    short weight = -3;
    int count = 4;
    long serial = 5_000_000_000L;
    float tax = 0.1f;
    double price = 2.5;
    String name = "tea";
    Integer boxed = 42;
    Object none;
    int[] sizes = new int[3];
    Item next;
    static int made;
  }

  interface Taker<T> {
    boolean take(T item);
  }

  static class Pack extends Item implements Taker<Item> {
    int inside = 1;

    Pack() {
      next = new Item();
    }

    boolean send(Item item) {
      return true;
    }

    @Override
    public boolean take(Item item) {
      return true;
    }

    boolean priced(Priced priced) {
      return true;
    }
  }

  static class Order implements Priced {
    int total;

    Order() {}

    Order(int total) {
      this.total = total;
    }

    int add(int pieces, String what) {
      total += pieces;
      return total;
    }

    @Override
    public double price(int pieces) {
      return pieces * 1.5;
    }

    static long everything(
        boolean z, byte b, char c, short s, int i, long j, float f, double d) {
      return i + j;
    }

    Object objects(String text, Color color, Class<?> type, int[] numbers, Integer boxed, Object none) {
      return boxed == null ? none : List.of(text);
    }

    String check(String text) {
      if (text.length() > 3) {
        throw new IllegalStateException("too long: " + text);
      }
      return text;
    }

    long longer(long number) {
      long twice = number * 2;
      String text = "n" + twice;
      return text.length();
    }

    int deep(int levels) {
      return levels == 0 ? 0 : 1 + deep(levels - 1);
    }

    void changes(int number, String text) {
      number += 1;
      text = text + number;
      total = text.length();
    }

    int endless(int level) {
      return 1 + endless(level + 1);
    }

    void slow(int milliseconds) throws InterruptedException {
      Thread.sleep(milliseconds);
    }
  }

  static class Later {
    static int late(int number) {
      return number * 2;
    }
  }

  static volatile boolean running;
  static volatile long counted;

  static int spin(int from) {
    return from * 31 + 7;
  }

  static void run() {
    int value = 1;
    while (running) {
      for (int i = 0; i < 1000; i++) {
        value = spin(value);
      }
      counted += 1000 + (value & 1) * 0;
    }
  }

  private static final List<Thread> threads = new ArrayList<>();

  private static String answer(String[] words, Order order) throws Exception {
    int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
    switch (words[0]) {
      case "add":
        for (int i = 0; i < number; i++) {
          order.add(i, "tea " + i);
        }
        return "" + order.total;
      case "everything":
        return "" + Order.everything(true, (byte) -2, 'x', (short) -3, 4, 5L, 1.5f, 2.5);
      case "objects":
        order.objects("a text", Color.GREEN, String.class, new int[3], 42, null);
        order.objects("a very long text that does not fit into its place", null, int.class, null, null, order);
        return "done";
      case "send":
        for (int i = 0; i < number; i++) {
          Item item = i % 2 == 0 ? new Pack() : null;
          new Pack().send(item);
          Taker<Item> taker = new Pack();
          taker.take(item);
        }
        return "done";
      case "longer":
        return "" + order.longer(number);
      case "wide":
        order.objects("ab" + "\u20ac".repeat(8), null, null, null, null, null);
        return "done";
      case "check":
        try {
          return order.check(number == 0 ? "abc" : "abcd");
        } catch (IllegalStateException thrown) {
          return "caught";
        }
      case "complain":
        try {
          return order.check("abcd");
        } catch (IllegalStateException thrown) {
          return thrown.getMessage();
        }
      case "deep":
        return "" + order.deep(number);
      case "changes":
        order.changes(5, "five");
        return "done";
      case "make":
        new Order(number);
        return "made";
      case "slow":
        order.slow(number);
        return "done";
      case "late":
        return "" + Later.late(number);
      case "price":
        Priced priced = order;
        return "" + priced.price(number);
      case "lambda":
        IntSupplier supplier = () -> order.add(number, "lambda");
        return "" + supplier.getAsInt();
      case "overflow":
        for (int i = 0; i < number; i++) {
          try {
            order.endless(0);
            return "not reached";
          } catch (StackOverflowError overflown) {
            continue;
          }
        }
        return "overflown";
      case "threads":
        for (int i = 0; i < number; i++) {
          int offset = i;
          Thread thread = new Thread(() -> new Order().add(offset, "thread"), "adder " + i);
          thread.start();
          thread.join();
        }
        return "done";
      case "broken":
        try {
          return "" + new Broken().add(1);
        } catch (ExceptionInInitializerError e) {
          return "broken";
        }
      case "random":
        for (int i = 0; i < number; i++) {
          order.add(ThreadLocalRandom.current().nextInt(10), "random");
        }
        return "done";
      case "start":
        running = true;
        for (int i = 0; i < number; i++) {
          Thread thread = new Thread(Traced::run, "spinner " + i);
          thread.setDaemon(true);
          thread.start();
          threads.add(thread);
        }
        return "started";
      case "counted":
        return "" + counted;
      case "stop":
        running = false;
        for (Thread thread : threads) {
          thread.join();
        }
        threads.clear();
        return "stopped";
      default:
        return "what?";
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Order order = new Order();
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(answer(line.split(" "), order));
    }
  }
}

/** A class that cannot be initialized. */
class Broken {
  static final int SIZE = "".charAt(0);

  int add(int a) {
    return SIZE + a;
  }
}
