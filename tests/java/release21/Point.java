import java.io.IOException;

/** A record, to be looked at. */
public record Point(int x, String name, Integer boxed) {
    static final Point point = new Point(1, "one", 2);

    public static void main(String[] arguments) throws IOException {
        System.out.println("ready");
        System.in.read();
    }
}
