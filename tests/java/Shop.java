import java.util.concurrent.CountDownLatch;

/**
 * The program of the reference's examples: a shop with one order, two threads at its door, and a
 * field and a method of each type.
 *
 * <p>The thread "keeper" holds the monitor {@code door} for ever; "customer" waits for it in
 * {@code enter}, whose variables have values to look at.
 */
public class Shop {
    static boolean open = true;
    static byte floor = 1;
    static char letter = 'C';
    static short aisle = 12;
    static int sold = 3;
    static long takings = 3_750L;
    static float rent = 1.5f;
    static double tax = 0.25;
    static String name = "Corner shop";

    static final Object door = new Object();
    static final Order order = new Order();
    static final int[] prices = {5, 10, 15};
    static final String[] wares = {"tea", "milk"};
    static final CountDownLatch closing = new CountDownLatch(1);
    static Thread entering;

    /** What somebody has ordered. */
    static class Order {
        boolean paid = true;
        byte shelf = 2;
        char size = 'L';
        short row = 40;
        int number = 7;
        long cents = 1_250L;
        float weight = 0.5f;
        double rate = 0.75;
        String customer = "Ada";

        boolean isPaid() {
            return paid;
        }

        byte shelf() {
            return shelf;
        }

        char size() {
            return size;
        }

        short row() {
            return row;
        }

        int number() {
            return number;
        }

        long cents() {
            return cents;
        }

        float weight() {
            return weight;
        }

        double rate() {
            return rate;
        }

        String customer() {
            return customer;
        }

        void pay() {
            paid = true;
        }

        @Override
        public String toString() {
            return "order " + number;
        }
    }

    static boolean isOpen() {
        return open;
    }

    static byte floor() {
        return floor;
    }

    static char letter() {
        return letter;
    }

    static short aisle() {
        return aisle;
    }

    static int price(int count) {
        int each = 5;
        return count * each;
    }

    static int twice(int count) {
        return 2 * price(count);
    }

    static long takings() {
        return takings;
    }

    static float rent() {
        return rent;
    }

    static double tax() {
        return tax;
    }

    static String name() {
        return name;
    }

    static void ring() {
        sold++;
    }

    static int parsed(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    static native int bell(int times);

    int enter(int places, long money, float hurry, double luck, Order wanted) {
        synchronized (door) {
            return places;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread keeper = new Thread(() -> {
            synchronized (door) {
                try {
                    entering.start();
                    closing.await();
                } catch (InterruptedException stopped) {
                    Thread.currentThread().interrupt();
                }
            }
        }, "keeper");
        entering = new Thread(() -> new Shop().enter(4, 2_000L, 0.5f, 0.125, order), "customer");
        entering.setDaemon(true);
        keeper.setDaemon(true);
        keeper.start();
        while (entering.getState() != Thread.State.BLOCKED) {
            Thread.sleep(1);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // until there is no more to read
        }
    }
}

/** A class to be found in a JAR file. */
class Till {}

/** A class to be defined from its class file. */
class Purse {}
