import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that wait inside methods, and say what their variables hold.
 *
 * <p>The threads {@code one} and {@code two}, and where there are such the virtual threads {@code
 * unmounted} and {@code mounted}, are in {@link Desk#inner}, called by {@link Desk#outer}; {@code
 * mounted} spins there, so that it keeps its carrier. The thread {@code spent} is in {@link
 * #spent}, which does not use its first parameter any more, {@code apart} in {@link #apart}; {@code
 * deep} has called itself.
 *
 * <p>{@code hash THREAD.METHOD.VARIABLE} answers with the identity hash code of what is there,
 * {@code wait LABEL} when the thread {@code main} has waited in {@link #waited}.
 */
public class Parked {
    static final Map<String, Integer> hashes = new ConcurrentHashMap<>();
    static volatile boolean leaving;
    static volatile Object sink;
    static volatile int begun;

    static class Item {
        final String label;

        Item(String label) {
            this.label = label;
        }
    }

    static class Desk {
        void outer(Item first, long wide, Item second) {
            String label = "outer " + first.label;
            int count = 3;
            Item nothing = null;
            note("outer.this", this);
            note("outer.first", first);
            note("outer.second", second);
            note("outer.label", label);
            inner(second, first);
            sink = "" + this + first + wide + second + label + count + nothing;
        }

        void inner(Item given, Object other) {
            int[] numbers = {1, 2, 3};
            Item same = given;
            note("inner.this", this);
            note("inner.given", given);
            note("inner.other", other);
            note("inner.numbers", numbers);
            rest();
            sink = "" + this + given + other + numbers.length + same;
        }
    }

    static void spent(Item early, Item late) {
        sink = early;
        rest();
        sink = late;
    }

    /** An object that compiled code does not make: it is used for its label only, and by nobody else. */
    static void apart(String label) {
        Item item = new Item(label);
        rest();
        sink = item.label;
    }

    static void deep(int level, Item item) {
        note("deep.item" + level, item);
        if (level > 0) {
            deep(level - 1, new Item("level " + (level - 1)));
        } else {
            rest();
        }
        sink = item;
    }

    /** Waits, which is an event of the VM's. */
    static String waited(String label) throws InterruptedException {
        Item item = new Item(label);
        synchronized (item) {
            item.wait(1);
        }
        return item.label;
    }

    static void note(String variable, Object object) {
        String thread = Thread.currentThread().getName();
        hashes.put(thread + "." + variable, System.identityHashCode(object));
    }

    static void rest() {
        boolean spins = Thread.currentThread().getName().equals("mounted");
        begin();
        while (!leaving) {
            if (spins) {
                int[] tick = new int[0];  // the interpreter-only VM stops where it allocates
            } else {
                LockSupport.park();
            }
        }
    }

    static synchronized void begin() {
        begun++;
    }

    static void work() {
        new Desk().outer(new Item("first"), 1L << 40, new Item("second"));
    }

    static int start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return 1;
    }

    static int virtual(String name) throws Exception {
        Object builder;
        try {
            builder = Thread.class.getMethod("ofVirtual").invoke(null);
        } catch (NoSuchMethodException absent) {
            return 0;  // before Java 21
        }
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        type.getMethod("name", String.class).invoke(builder, name);
        Runnable task = Parked::work;
        type.getMethod("start", Runnable.class).invoke(builder, task);
        return 1;
    }

    public static void main(String[] arguments) throws Exception {
        int wanted = start("one", Parked::work) + start("two", Parked::work);
        wanted += start("spent", () -> {
            Item late = new Item("late");
            note("spent.late", late);
            spent(new Item("early"), late);
        });
        wanted += start("apart", () -> apart("kept"));
        wanted += start("deep", () -> deep(3, new Item("level 3")));
        wanted += virtual("unmounted");
        if (arguments.length > 0) {
            wanted += virtual(arguments[0]);
        }
        while (begun < wanted) {
            Thread.sleep(1);
        }
        System.out.println("ready");
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.trim().split(" ");
            System.out.println(
                    words[0].equals("wait") ? waited(words[1]) : hashes.get(words[1]));
        }
        System.exit(0);
    }
}
