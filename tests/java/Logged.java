import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Has lines worth logging at: each line of its input is a number of sales, each has an answer. */
public class Logged {
  static class Customer {
    String name = "Ada";
    int age = 30;
    double rating = 4.5;
    Customer friend;
    int[] scores = {3, 1, 2};
  }

  static class Order {
    long total;
    boolean open = true;
    Customer customer = new Customer();

    int sell(int pieces, String what) {
      double price = pieces * 2.5; // begin
      total += pieces; // before loop
      for (int i = 0; i < pieces; i++) {
        total += i; // in loop
      }
      pieces = pieces + 1000;
      if (price > 100) {
        throw new IllegalStateException(what);
      }
      return pieces; // end
    }

    static int twice(int number) {
      int result = number * 2;
      return result; // static end
    }
  }

  static class Company extends Customer {
    Company() {
      name = "Acme";
      age = 3;
    }
  }

  static final Object[] SUBJECTS = {new Order(), null, new Order(), "text", new Order()};

  static {
    ((Order) SUBJECTS[2]).customer = null;
    ((Order) SUBJECTS[4]).customer = new Company();
    ((Order) SUBJECTS[4]).total = 1L << 40;
  }

  static boolean judge(Object subject) {
    return subject != null;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    Order order = new Order();
    Order.twice(1);
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      int number = Integer.parseInt(line);
      for (int i = 0; i < number; i++) {
        order.sell(i, "tea " + i); // sale
        Order.twice(i);
        judge(SUBJECTS[i % SUBJECTS.length]);
      }
      System.out.println(order.total);
    }
  }
}
