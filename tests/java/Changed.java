import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Calls one method of each type for each line of its input, and prints what they return or throw. */
public class Changed {
  /** What a method may return. */
  static class Shop {
    int pieces(int n) {
      return n;
    }

    long total(int n) {
      return n * 10L;
    }

    double price(int n) {
      return n * 0.5;
    }

    float weight(int n) {
      return n * 0.25f;
    }

    boolean open(int n) {
      return n % 2 == 0;
    }

    char grade(int n) {
      return (char) ('a' + n);
    }

    short shelf(int n) {
      return (short) n;
    }

    byte level(int n) {
      return (byte) n;
    }

    String name(int n) {
      return "name " + n;
    }

    Object thing(int n) {
      return "thing " + n;
    }

    Integer boxed(int n) {
      return n;
    }

    static int fixed(int n) {
      return n;
    }

    void close(int n) throws IOException {
      if (n < 0) {
        throw new IOException("closed");
      }
    }
  }

  /** An exception of the program's own, without a message. */
  public static class Own extends RuntimeException {
    public Own() {
      super("own");
    }
  }

  private static Object answer(Shop shop, String what, int n) throws Exception {
    switch (what) {
      case "pieces":
        return shop.pieces(n);
      case "total":
        return shop.total(n);
      case "price":
        return shop.price(n);
      case "weight":
        return shop.weight(n);
      case "open":
        return shop.open(n);
      case "grade":
        return shop.grade(n);
      case "shelf":
        return shop.shelf(n);
      case "level":
        return shop.level(n);
      case "name":
        return shop.name(n);
      case "thing":
        return shop.thing(n);
      case "boxed":
        return shop.boxed(n);
      case "fixed":
        return Shop.fixed(n);
      default:
        shop.close(n);
        return "closed";
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Shop shop = new Shop();
    answer(shop, "pieces", 1);
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      long began = System.nanoTime();
      String said;
      try {
        said = "" + answer(shop, words[0], Integer.parseInt(words[1]));
      } catch (Throwable thrown) {
        said = thrown.getClass().getName() + ": " + thrown.getMessage();
      }
      long took = (System.nanoTime() - began) / 1_000_000;
      System.out.println(said + "|" + took);
    }
  }
}
