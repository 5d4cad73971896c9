import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A heap of known content, for dumps of it. "collect" collects garbage, "quit" ends. */
public class Dumped {
    static class Customer {
        final String name;
        final int age;

        Customer(String name, int age) {
            this.name = name;
            this.age = age;
        }
    }

    static class Order {
        final Customer customer;
        final long number;
        final boolean paid;
        final byte small;
        final char letter;
        final short middle;
        final float rate;
        final double price;
        final int[] amounts;
        Order previous;

        Order(Customer customer, int number, Order previous) {
            this.customer = customer;
            this.number = number;
            this.paid = number % 2 == 0;
            this.small = (byte) number;
            this.letter = (char) ('a' + number % 26);
            this.middle = (short) -number;
            this.rate = number / 4f;
            this.price = number * 1.5;
            this.amounts = new int[number % 7];
            this.previous = previous;
        }
    }

    static class Wide extends Order {
        final byte one = 1;
        final long two = 2;
        final Object three = this;

        Wide(Customer customer, int number) {
            super(customer, number, null);
        }
    }

    static final List<Order> ORDERS = new ArrayList<>();
    static final Map<Long, Order> BY_NUMBER = new HashMap<>();
    static final Map<String, Customer> BY_NAME = new ConcurrentHashMap<>();
    static final ThreadLocal<long[]> LOCAL = new ThreadLocal<>();
    static final int LIMIT = Integer.parseInt("-17");
    static WeakReference<Customer> weak;
    static SoftReference<byte[]> soft;
    static Object foreign;

    public static void main(String[] arguments) throws Exception {
        Customer[] customers = {
            new Customer("Ada", 36), new Customer("Grüße 🌍", 41), new Customer(null, 7)
        };
        for (int number = 0; number < 20000; number++) {
            Customer customer = customers[number % 3];
            Order previous = number == 0 ? null : ORDERS.get(number - 1);
            ORDERS.add(new Order(customer, number, number % 100 == 0 ? null : previous));
            BY_NUMBER.put((long) number, ORDERS.get(number));
        }
        for (int number = 0; number < 100; number++) {
            ORDERS.add(new Wide(customers[0], number));
        }
        BY_NAME.put("Ada", customers[0]);
        weak = new WeakReference<>(new Customer("weak", 1));
        soft = new SoftReference<>(new byte[12345]);
        LOCAL.set(new long[777]);
        // The same class once more, of a loader of its own.
        URL[] path = {Dumped.class.getProtectionDomain().getCodeSource().getLocation()};
        URLClassLoader loader = new URLClassLoader(path, null);
        Constructor<?> made =
            loader.loadClass("Dumped$Customer").getDeclaredConstructor(String.class, int.class);
        made.setAccessible(true);
        foreign = made.newInstance("foreign", 99);
        work(new char[] {'l', 'o', 'c', 'a', 'l'});
    }

    static void work(char[] inFrame) throws Exception {
        System.out.println("ready");
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            if (read == 'c') {
                System.gc();
                System.out.println("collected");
            }
        }
        System.out.println(inFrame.length);
    }
}
