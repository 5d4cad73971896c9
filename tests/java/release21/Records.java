/** Uses what Java 21 brought: a program that older releases cannot run. */
public class Records {
    record Point(int x, int y) {}

    sealed interface Shape permits Circle, Square {}

    record Circle(Point centre) implements Shape {}

    record Square(Point corner, int side) implements Shape {}

    static Point place(Shape shape) {
        return switch (shape) {
            case Circle(Point centre) -> centre;
            case Square(Point corner, int side) when side > 0 -> corner;
            case Square square -> new Point(0, 0);
        };
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(place(new Square(new Point(1, 2), 3)));
        while (System.in.read() >= 0) {
            // Until the test is over.
        }
    }
}
