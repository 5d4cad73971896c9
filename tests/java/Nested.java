import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntSupplier;

/** Code in nested, anonymous and local classes and lambdas; otherwise as the program Judged. */
public class Nested {
    static boolean compiled;
    static int shared = 1;
    int number = 7;
    private String own = "outer";
    String same = "of Nested";

    static class Base<T extends Comparable<T>> {
        protected T kept;
        List<T> all = new ArrayList<>();
        private int hidden = 100;

        Base(T kept) {
            this.kept = kept;
            all.add(kept);
        }

        T best() {
            return kept;
        }

        int size() {
            return all.size();
        }
    }

    static class Derived extends Base<String> {
        String kept = "hides";
        static int made;

        Derived() {
            super("base");
            made++;
        }

        @Override
        String best() {
            return super.best() + "!";
        }

        void work() {
            stopped(); // here derived
            if (compiled) {
                // EXPRESSIONS derived
            }
        }
    }

    class Inner {
        String same = "of Inner";
        int depth = 1;

        class Innermost {
            String same = "of Innermost";

            void work(int given) {
                stopped(); // here innermost
                if (compiled) {
                    // EXPRESSIONS innermost
                }
                own += given + number + depth; // so that the compiler keeps the objects around
            }
        }
    }

    interface Shape {
        double area();

        default String described() {
            stopped(); // here interface
            if (compiled) {
                // EXPRESSIONS interface
            }
            return name() + " " + area();
        }

        private String name() {
            return "shape";
        }

        static Shape square(double side) {
            return () -> side * side;
        }
    }

    static class Circle implements Shape {
        final double radius;

        Circle(double radius) {
            this.radius = radius;
        }

        @Override
        public double area() {
            return 3 * radius * radius;
        }
    }

    enum Level {
        LOW(1), HIGH(5) {
            @Override
            int weight() {
                stopped(); // here constant
                if (compiled) {
                    // EXPRESSIONS constant
                }
                return super.weight() * 2;
            }
        };

        private final int base;

        Level(int base) {
            this.base = base;
        }

        int weight() {
            return base;
        }
    }

    private int bumped(int by) {
        return number + by;
    }

    private static String quoted(Object one) {
        return "<" + one + ">";
    }

    void anonymous(int captured, String word) {
        Comparator<String> order = new Comparator<>() {
            int calls = 3;

            @Override
            public int compare(String left, String right) {
                calls++;
                stopped(); // here anonymous
                if (compiled) {
                    // EXPRESSIONS anonymous
                }
                return captured + word.length() + number;
            }
        };
        order.compare("l", "right");
    }

    void local(long captured) {
        String between = "between";
        class Local {
            int field = 4;

            void work() {
                stopped(); // here local
                if (compiled) {
                    // EXPRESSIONS local
                }
                own = between + captured;
            }
        }
        new Local().work();
    }

    void lambda(int captured) {
        Function<String, Integer> measure = word -> {
            int length = word.length();
            stopped(); // here lambda
            if (compiled) {
                // EXPRESSIONS lambda
            }
            return length + captured + number;
        };
        measure.apply("word");
        IntSupplier plain = () -> {
            stopped(); // here unbound
            if (compiled) {
                // EXPRESSIONS unbound
            }
            return captured;
        };
        plain.getAsInt();
    }

    <T extends Comparable<T>, N extends Number> void generic(List<T> items, T[] array, N amount) {
        T first = items.get(0);
        Base<T> base = new Base<>(first);
        List<? extends Number> numbers = List.of(1, 2.5, 3L);
        List<List<T>> nested = List.of(items);
        List raw = items;
        stopped(); // here generic
        if (compiled) {
            // EXPRESSIONS generic
        }
    }

    static void scoped(int n) {
        int before = 1;
        for (int i = 0; i < 3; i++) {
            int doubled = 2 * i;
            if (i == 2) {
                stopped(); // here scoped
                if (compiled) {
                    // EXPRESSIONS scoped
                }
            }
        }
    }

    static void stopped() {}

    static void run() {
        shared = 1;
        Derived.made = 0;
        Nested nested = new Nested();
        new Derived().work();
        nested.new Inner().new Innermost().work(5);
        new Circle(2).described();
        Level.HIGH.weight();
        nested.anonymous(3, "captured");
        nested.local(1L << 40);
        nested.lambda(9);
        nested.generic(List.of("x", "y"), new String[] {"z"}, 2.5);
        scoped(4);
    }

    // PRINTED

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() == '\n') {
            compiled = false;
            run();
            compiled = true;
            run();
            System.out.println("done");
        }
    }
}
