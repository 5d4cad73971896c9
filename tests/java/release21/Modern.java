import java.util.List;
import java.util.Map;

/** Records, sealed classes, patterns and text blocks; otherwise as the program Judged. */
public class Modern {
    static boolean compiled;

    record Point(int x, int y) {
        static final Point ZERO = new Point(0, 0);

        Point {
            if (x < 0) {
                throw new IllegalArgumentException("negative");
            }
        }

        int sum() {
            stopped(); // here record
            if (compiled) {
                // EXPRESSIONS record
            }
            return x + y;
        }

        Point moved(int by) {
            return new Point(x + by, y + by);
        }
    }

    record Pair<A, B>(A first, B second) {}

    sealed interface Shape permits Square, Round {
        double area();
    }

    record Square(double side) implements Shape {
        @Override
        public double area() {
            return side * side;
        }
    }

    record Round(double radius) implements Shape {
        @Override
        public double area() {
            return 3 * radius * radius;
        }
    }

    int number = 7;

    class Inner {
        void unrelated(int given) {
            stopped(); // here unrelated
            if (compiled) {
                // EXPRESSIONS unrelated
            }
        }
    }

    void patterns(Object given, Shape shape) {
        var inferred = List.of("a", "b");
        var counts = Map.of("one", 1);
        Pair<String, Integer> pair = new Pair<>("p", 5);
        String block = """
            two
              lines""";
        stopped(); // here patterns
        if (compiled) {
            // EXPRESSIONS patterns
        }
        if (given instanceof String text && shape instanceof Square square) {
            int length = text.length();
            stopped(); // here bound
            if (compiled) {
                // EXPRESSIONS bound
            }
        }
    }

    static void virtual() throws InterruptedException {
        Thread.ofVirtual().name("light").start(() -> {
            int inside = 3;
            stopped(); // here virtual
            if (compiled) {
                // EXPRESSIONS virtual
            }
        }).join();
    }

    static void stopped() {}

    static void run() throws InterruptedException {
        new Point(1, 2).sum();
        new Modern().new Inner().unrelated(3);
        new Modern().patterns("given", new Square(2));
        virtual();
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
