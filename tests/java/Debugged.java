import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Works on orders, for a debugger to look into.  Tests name its lines by the words in their
 * comments.  `Debugged 5` works on five orders and ends with status 3; without a number it goes on.
 */
public class Debugged {
    static int total;
    static final List<Thread> WAITING = new ArrayList<>();

    final int number;
    final List<String> lines = new ArrayList<>();
    final Map<String, Integer> prices = new LinkedHashMap<>();
    final int[] weights = {3, 1, 4, 1, 5};
    final List<Integer> computed = new Computed();
    String note = "a \"quoted\" note";
    char grade = 'x';
    double share = 0.5;

    Debugged(int number) {
        this.number = number;
        for (int i = 0; i < 250; i++) {
            lines.add("line " + i);
        }
        prices.put("tea", 3);
        prices.put("coffee", 4);
    }

    int price(int count) {
        int net = count * 100; // NET
        int gross = net + net / 5; // GROSS
        return gross; // RETURN
    }

    static int square(int n) {
        return n * n; // SQUARE
    }

    static int pause(int seconds) throws InterruptedException {
        Thread.sleep(1000L * seconds);
        return seconds;
    }

    static int sum(int a, int b) {
        return a + b; // SUM
    }

    int work() {
        int first = price(number); // FIRST
        int both = sum(square(2), square(number)); // BOTH
        total += first; // TOTAL
        return both; // WORKED
    }

    int visit() {
        List<String> few = lines.subList(0, 3);
        few.forEach(one -> { // EACH
            total += one.length(); // LAMBDA
        });
        int size = few.size(); // SIZE
        return size + square(few.size()); // VISITED
    }

    /** Nobody but its own code knows how many elements it has. */
    static class Computed extends AbstractList<Integer> {
        public Integer get(int at) {
            return at * at;
        }

        public int size() {
            return 3;
        }
    }

    interface Greeting {
        int greet(int n);
    }

    static class Polite implements Greeting {
        Polite() { // MADE
            total++;
        }

        public int greet(int n) {
            return n + 1; // GREET
        }
    }

    static final MethodHandle GREET;

    static {
        try {
            MethodType type = MethodType.methodType(int.class, int.class);
            GREET = MethodHandles.lookup().findVirtual(Greeting.class, "greet", type);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    static int indirect(int n) throws Throwable {
        Greeting polite = Polite.class.getDeclaredConstructor().newInstance(); // NEW
        Object reflected = Greeting.class.getMethod("greet", int.class).invoke(polite, n); // REFLECTED
        int handled = (int) GREET.invokeExact(polite, n); // HANDLED
        MethodHandle bound = GREET.bindTo(polite);
        Object boxed = bound.invoke((Integer) handled); // BOUND
        Greeting proxy = (Greeting) Proxy.newProxyInstance(
            Debugged.class.getClassLoader(),
            new Class<?>[] {Greeting.class},
            (self, method, passed) -> method.invoke(polite, passed)); // HANDLER
        return (int) reflected + (int) boxed + proxy.greet(n); // PROXIED
    }

    static class Line {
        String text(int n) {
            String made = "line " + n; // NESTED
            return made;
        }
    }

    static class Priced {
        int price = 7;
        String name = "tea";
        int[] sizes = {3, 5};
        boolean open = true;
        char grade = 'x';
        double share = 0.5;
        Integer boxed = 5;
        Priced next;

        boolean isCheap(int limit) {
            Priced self = this;
            limit = limit + 1000;
            return self.price < limit; // CHEAP
        }
    }

    static class Reduced extends Priced {
        int price = 1;

        int half() {
            return open ? price / 2 : 0; // HALF
        }
    }

    static void fail(int n) {
        try {
            throw new IllegalStateException("order " + n); // THROW
        } catch (IllegalStateException expected) {
            total++; // CAUGHT
        }
    }

    static void deep(int levels) {
        if (levels > 0) {
            deep(levels - 1);
        } else {
            total++; // DEEP
        }
    }

    public static void main(String[] args) throws Throwable {
        int most = args.length > 0 ? Integer.parseInt(args[0]) : Integer.MAX_VALUE;
        System.out.println("ready");
        for (int n = 1; n <= most; n++) {
            Debugged order = new Debugged(n);
            int worked = order.work(); // WORK
            order.visit();
            new Line().text(n); // TEXT
            fail(n); // FAIL
            Reduced reduced = new Reduced();
            reduced.isCheap(n);
            reduced.half();
            indirect(n);
            deep(300);
            if (n % 50 == 0) {
                System.out.println("worked " + worked);
            }
            Thread.sleep(args.length > 0 ? 0 : 2); // SLEEP
        }
        System.exit(3);
    }
}
