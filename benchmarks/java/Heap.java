import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A heap of a mixed kind: {@code java Heap MILLIONS} makes about so many million objects.
 *
 * <p>An order has a name (a string and its bytes), a number, lines in a list with an array, and a
 * place in a map; that is twenty objects.
 */
public class Heap {
    static class Line {
        final int article;
        final double price;
        final Order order;

        Line(int article, Order order) {
            this.article = article;
            this.price = article / 100.0;
            this.order = order;
        }
    }

    static class Order {
        final long number;
        final String name;
        final List<Line> lines = new ArrayList<>(4);
        final int[] history = new int[3];
        final Long key;
        final Object extra;

        Order(long number) {
            this.number = number;
            this.name = "order-" + number;
            this.key = number + 1_000_000;
            for (int i = 0; i < 4; i++) {
                lines.add(new Line(i, this));
            }
            this.extra = new Object[] {new String[] {"a" + number}, new byte[16], new Object()};
        }
    }

    static class Vault {
        final Object[] kept = new Object[1000];
    }

    static final Map<Long, Order> orders = new HashMap<>();
    static final Vault vault = new Vault();

    public static void main(String[] arguments) throws Exception {
        long count = (long) (Double.parseDouble(arguments[0]) * 1_000_000 / 17);
        for (long i = 0; i < count; i++) {
            Order order = new Order(i);
            orders.put(order.key, order);
        }
        for (int i = 0; i < vault.kept.length; i++) {
            vault.kept[i] = new byte[100];
        }
        System.gc();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // It holds what it has.
        }
    }
}
