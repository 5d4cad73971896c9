import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;

/**
 * A heap of about as many objects as the first argument says, of a mixed kind: orders with a
 * customer, a text, boxed numbers, lists and maps of them, long linked lists and arrays. A second
 * argument is how long a linked list may become; without it some go through the whole heap.
 */
public class Mixed {
    static class Customer {
        final String name;
        Customer invitedBy;
        final long[] payments;

        Customer(String name, Customer invitedBy, int payments) {
            this.name = name;
            this.invitedBy = invitedBy;
            this.payments = new long[payments];
        }
    }

    static class Order {
        final Customer customer;
        final Long number;
        final String text;
        final double price;
        boolean paid;
        Order previous;

        Order(Customer customer, long number, Order previous) {
            this.customer = customer;
            this.number = number;
            this.text = "order " + number;
            this.price = number * 0.25;
            this.previous = previous;
        }
    }

    static final List<Object> KEPT = new ArrayList<>();
    static final Map<Long, Order> BY_NUMBER = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        long wanted = Long.parseLong(arguments[0]);
        long longest = arguments.length > 1 ? Long.parseLong(arguments[1]) : Long.MAX_VALUE;
        Customer customer = null;
        LinkedList<Order> recent = new LinkedList<>();
        KEPT.add(recent);
        Order previous = null;
        long made = 0;
        for (long number = 1000; made < wanted; number++) {
            if (number % 8 == 0) {
                customer = new Customer("customer " + number, customer, (int) (number % 5));
                made += 4;
            }
            if (number % Math.min(longest, 1000) == 0) {
                previous = null;
            }
            if (number % longest == 0) {
                customer = null;
                recent = new LinkedList<>();
                KEPT.add(recent);
            }
            Order order = new Order(customer, number, previous);
            previous = order;
            made += 4;
            if (number % 4 == 0) {
                BY_NUMBER.put(order.number, order);
                made += 1;
            } else {
                recent.add(order);
                made += 1;
            }
            if (number % 16 == 0) {
                Object[] both = {order, customer, new int[] {1, 2, 3}};
                KEPT.add(both);
                made += 2;
            }
        }
        System.gc();
        System.out.println("ready " + made);
        System.out.flush();
        while (System.in.read() >= 0) {
            // Until the process that started this closes the pipe.
        }
    }
}
