import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Has as many objects of one class as its argument says, and walks the heap with callbacks in C++ that do
 * nothing, or give each object a tag, when asked: {@code walk} and {@code tag}; the answer is
 * nanoseconds.
 */
public class Walked {
    static final class Item {
        int value;
    }

    static native long walk(Class<?> type, boolean tags);

    public static void main(String[] arguments) throws Exception {
        Item[] items = new Item[Integer.parseInt(arguments[0])];
        for (int i = 0; i < items.length; i++) {
            items[i] = new Item();
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            System.out.println(walk(Item.class, line.equals("tag")));
        }
        if (items[0] == null) {
            throw new AssertionError();
        }
        System.exit(0);
    }
}
