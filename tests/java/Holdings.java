import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * A heap whose contents are known.
 *
 * <p>A thousand orders are in {@code orders}, each with a customer whom a hundred orders share, ten
 * items of its own in an array, and a name of its own. {@code chain} is a list of three hundred
 * links. {@code vault} alone holds a safe, which holds a hundred thousand bytes and a shared
 * customer. {@code weakly} and {@code softly} are held by nothing but references of these kinds;
 * the thread {@code keeper} has a local variable that holds a {@code Local}.
 *
 * <p>One command a line on standard input, one line of answer:
 *
 * <ul>
 *   <li>{@code add N}: N more orders
 *   <li>{@code drop}: the vault is empty from now on
 *   <li>{@code shift}: takes the first order away, so that the others move up in their list
 *   <li>{@code gc}: collects garbage
 *   <li>{@code texts N}: N strings {@code text-0} …
 *   <li>{@code fill N}: about N objects of a mixed kind
 *   <li>{@code busy}: a thread begins to make garbage, and keeps some of it for a while;
 *       {@code busy N} has it rest a millisecond after each N objects
 * </ul>
 */
public class Holdings {
    static class Customer {
        final String name;

        Customer(String name) {
            this.name = name;
        }
    }

    static class Item {
        final int number;

        Item(int number) {
            this.number = number;
        }
    }

    static class Priced {
        byte kind = 7;
        double price;
    }

    static class Order extends Priced {
        final int number;
        final long total;
        final boolean paid;
        final char letter;
        final short half;
        final float rate;
        final String name;
        final Customer customer;
        final Item[] items = new Item[10];

        Order(int number, Customer customer) {
            this.number = number;
            this.total = number * 10_000_000_000L;
            this.paid = number % 2 == 0;
            this.letter = (char) ('a' + number % 26);
            this.half = (short) -number;
            this.rate = number / 4f;
            this.price = number / 8.0;
            this.name = "order-" + number;
            this.customer = customer;
            for (int i = 0; i < items.length; i++) {
                items[i] = new Item(i);
            }
        }
    }

    static class Link {
        final int number;
        final Link next;

        Link(int number, Link next) {
            this.number = number;
            this.next = next;
        }
    }

    static class Safe {
        final byte[] contents = new byte[100_000];
        final int[] numbers = {3, 1, 4, 1, 5};
        final Object[][] drawers = {new Object[100], new Object[200], {new Secret(), null}};
        Customer customer;
    }

    static class Secret {}

    static class Weakly {}

    static class Softly {}

    static class Local {}

    static class Twice {}

    static final List<Order> orders = new ArrayList<>();
    static final List<Customer> customers = new ArrayList<>();
    static final Map<String, Object> map = new HashMap<>();
    static Link chain;
    static Safe vault = new Safe();
    static final WeakReference<Weakly> weakly = new WeakReference<>(new Weakly());
    static final SoftReference<Softly> softly = new SoftReference<>(new Softly());
    static final Object[] twice = new Object[8];
    static final List<Object> kept = new ArrayList<>();
    static final String ASTRAL = "\u65e5\u672c \ud83d\ude00";

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 10; i++) {
            customers.add(new Customer("customer-" + i));
        }
        add(1000);
        for (int i = 0; i < 300; i++) {
            chain = new Link(i, chain);
        }
        vault.customer = customers.get(3);
        twice[2] = twice[5] = new Twice();
        map.put("secret of the map", new Secret());
        Thread keeper = new Thread(Holdings::keep, "keeper");
        keeper.setDaemon(true);
        keeper.start();
        System.out.println("ready");
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = reader.readLine()) != null; ) {
            System.out.println(answer(line.split(" ")));
        }
    }

    static String answer(String[] words) {
        int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
        switch (words[0]) {
            case "add":
                add(number);
                return String.valueOf(orders.size());
            case "drop":
                vault = null;
                return "dropped";
            case "shift":
                orders.remove(0);
                return String.valueOf(orders.size());
            case "gc":
                System.gc();
                return "collected";
            case "texts":
                for (int i = 0; i < number; i++) {
                    kept.add("text-" + i);
                }
                return String.valueOf(kept.size());
            case "fill":
                fill(number);
                return String.valueOf(kept.size());
            case "busy":
                Thread busy = new Thread(() -> work(number), "busy");
                busy.setDaemon(true);
                busy.start();
                return "busy";
            default:
                return "?";
        }
    }

    static void add(int count) {
        for (int i = 0; i < count; i++) {
            int number = orders.size();
            orders.add(new Order(number, customers.get(number % 10)));
        }
    }

    static void fill(int count) {
        Map<Integer, Object> made = new HashMap<>();
        for (int i = 0; i < count / 5; i++) {
            made.put(i, i % 2 == 0 ? "value-" + i : new long[] {i, i + 1});
        }
        kept.add(made);
    }

    static void work(int between) {
        Object[] recent = new Object[1000];
        for (int i = 0; ; i++) {
            if (between > 0 && i % between == 0) {
                LockSupport.parkNanos(1_000_000);
            }
            recent[i % recent.length] = new Object[] {"busy-" + i, new byte[i % 100]};
        }
    }

    static void keep() {
        Local local = new Local();
        synchronized (local) {
            try {
                local.wait();
            } catch (InterruptedException expected) {
                System.out.println(local);
            }
        }
    }
}
