import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Objects of every kind, methods of every signature, and what they are in Java's own words.
 *
 * <p>{@code show NAME} answers with what Java makes of {@link #kept}'s object of that name, {@code
 * last} with what was passed to the last method called.
 */
public class Values {
    static final Map<String, Object> kept = new LinkedHashMap<>();
    static volatile String last = "";
    static int counter = 7;
    static String text = "static";
    static final int FIXED = 3;
    static int[] numbers = {3, 1, 4, 1, 5};

    interface Named {
        String PREFIX = "named ";

        default String greet(String who) {
            return "hello " + who;
        }

        static String ofInterface() {
            return "static of Named";
        }
    }

    static class Base implements Named {
        private int total = 1;
        protected String name = "base";
        static long made = 5;
        private final String fixed = "as it was";

        private String secret(int x) {
            return "secret " + x + " " + total;
        }

        public String toString() {
            return "Base " + total;
        }
    }

    static class Derived extends Base {
        int total = 2;
        boolean yes = true;
        byte small = -8;
        char letter = 'ä';
        short shorter = -300;
        int number = 1 << 30;
        long large = 1L << 40;
        float real = 1.5f;
        double precise = 0.1;
        Object nothing = null;
        int[] array = {1, 2, 3};
        String[] words = {"one", null, "three"};
        List<Object> list = new ArrayList<>(List.of("a", 2));
        Integer boxed = 42;
        Derived self = this;
        TimeUnit unit = TimeUnit.SECONDS;
        Object monitor = new Object();

        int total() {
            return total;
        }

        public String toString() {
            throw new IllegalStateException("nobody may call this");
        }
    }

    /** Of each a name, so that {@link #last} says which was called. */
    static class Overloads {
        static String z(boolean x) { return "boolean " + x; }
        static String b(byte x) { return "byte " + x; }
        static String s(short x) { return "short " + x; }
        static String c(char x) { return "char " + x; }
        static String i(int x) { return "int " + x; }
        static String j(long x) { return "long " + x; }
        static String f(float x) { return "float " + x; }
        static String d(double x) { return "double " + x; }
        static String boxB(Byte x) { return "Byte " + x; }
        static String boxS(Short x) { return "Short " + x; }
        static String boxC(Character x) { return "Character " + x; }
        static String boxZ(Boolean x) { return "Boolean " + x; }
        static String boxI(Integer x) { return "Integer " + x; }
        static String boxJ(Long x) { return "Long " + x; }
        static String boxF(Float x) { return "Float " + x; }
        static String boxD(Double x) { return "Double " + x; }
        static String number(Number x) { return x == null ? "null" : kind(x); }
        static String object(Object x) { return x == null ? "null" : kind(x); }
        static String string(String x) { return "String " + x; }
        static String chars(CharSequence x) { return "CharSequence " + x; }
        static String comparable(Comparable<?> x) { return kind(x); }
        static String ints(int[] x) { return "int[] " + Arrays.toString(x); }
        static String bytes(byte[] x) { return "byte[] " + Arrays.toString(x); }
        static String charArray(char[] x) { return "char[] " + Arrays.toString(x); }
        static String doubles(double[] x) { return "double[] " + Arrays.toString(x); }
        static String strings(String[] x) { return "String[] " + Arrays.toString(x); }
        static String objects(Object[] x) { return "Object[] " + Arrays.toString(x); }
        static String matrix(int[][] x) { return "int[][] " + Arrays.deepToString(x); }
        static String list(List<?> x) { return kind(x); }
        static String set(Set<?> x) { return kind(x); }
        static String map(Map<?, ?> x) { return kind(x); }
        static String iterable(Iterable<?> x) { return kind(x); }
        static String supplier(Supplier<?> x) { return "Supplier " + (x == null ? null : x.get()); }
        static String runnable(Runnable x) { return "Runnable"; }

        static String intOrLong(int x) { return "int"; }
        static String intOrLong(long x) { return "long"; }
        static String longOrInteger(long x) { return "long"; }
        static String longOrInteger(Integer x) { return "Integer"; }
        static String shortOrObject(short x) { return "short"; }
        static String shortOrObject(Object x) { return "Object"; }
        static String doubleOrLong(double x) { return "double"; }
        static String doubleOrLong(long x) { return "long"; }
        static String floatOrDouble(float x) { return "float"; }
        static String floatOrDouble(double x) { return "double"; }
        static String charOrString(char x) { return "char"; }
        static String charOrString(String x) { return "String"; }
        static String stringOrObject(String x) { return "String"; }
        static String stringOrObject(Object x) { return "Object"; }
        static String stringOrInteger(String x) { return "String"; }
        static String stringOrInteger(Integer x) { return "Integer"; }
        static String listOrCollection(List<?> x) { return "List"; }
        static String listOrCollection(Collection<?> x) { return "Collection"; }
        static String byteOrInt(byte x) { return "byte"; }
        static String byteOrInt(int x) { return "int"; }
        static String crossed(int x, long y) { return "int, long"; }
        static String crossed(long x, int y) { return "long, int"; }
        static String booleanOrInt(boolean x) { return "boolean"; }
        static String booleanOrInt(int x) { return "int"; }
        static String arrayOrObject(byte[] x) { return "byte[]"; }
        static String arrayOrObject(Object x) { return "Object"; }
        static String many(String... x) { return "String... " + Arrays.toString(x); }
        static String manyInts(int... x) { return "int... " + Arrays.toString(x); }
        static String fixedOrMany(Object x) { return "Object"; }
        static String fixedOrMany(Object... x) { return "Object... " + x.length; }
        static String afterOne(int x, Object... y) { return x + " and " + Arrays.toString(y); }

        static String kind(Object x) {
            return x.getClass().getSimpleName() + " " + x;
        }
    }

    static class Made {
        final String how;

        Made() { how = "nothing"; }
        Made(int x) { how = "int " + x; }
        Made(String x) { how = "String " + x; }
        private Made(double x) { how = "double " + x; }
        Made(boolean fails) { throw new IllegalArgumentException("as asked: " + fails); }
    }

    abstract static class Unmade {}

    /** Its table says one thing and its methods another. */
    static class Odd extends HashMap<String, String> {
        public Set<Map.Entry<String, String>> entrySet() {
            return Map.of("odd", "one").entrySet();
        }

        public int size() {
            return 1;
        }
    }

    enum Colour {
        RED,
        GREEN { };
    }

    static class Holder {
        synchronized String guarded() {
            return "guarded";
        }

        synchronized void hold() throws InterruptedException {
            System.out.println("holding");
            while (holding) {
                Thread.onSpinWait();
            }
        }

        void endless() {
            while (running) {
                Thread.onSpinWait();
            }
        }
    }

    static final Holder holder = new Holder();
    static volatile boolean holding;
    static volatile boolean running = true;

    static void keep() {
        kept.put("derived", new Derived());
        kept.put("overloads", new Overloads());
        kept.put("holder", holder);
        Map<String, String> thousands = new HashMap<>();
        for (int i = 0; i < 10_000; ++i) {
            thousands.put("key " + i, "value " + i);
        }
        kept.put("thousands", thousands);
        kept.put("HashMap", new HashMap<>(Map.of("a", 1, "b", 2)));
        kept.put("LinkedHashMap", new LinkedHashMap<>(new TreeMap<>(Map.of("a", 1, "b", 2))));
        kept.put("TreeMap", new TreeMap<>(Map.of("a", 1, "b", 2)));
        kept.put("Hashtable", new Hashtable<>(Map.of("a", 1, "b", 2)));
        kept.put("ConcurrentHashMap", new ConcurrentHashMap<>(Map.of("a", 1, "b", 2)));
        kept.put("Map0", Map.of());
        kept.put("Map1", Map.of("a", 1));
        kept.put("MapN", Map.of("a", 1, "b", 2, "c", 3));
        kept.put("UnmodifiableMap", Collections.unmodifiableMap(new HashMap<>(Map.of("a", 1))));
        kept.put("SingletonMap", Collections.singletonMap("a", 1));
        kept.put("Odd", new Odd());
        HashMap<Object, Object> colliding = new HashMap<>();
        for (int i = 0; i < 40; ++i) {
            colliding.put(new Colliding(i), i);
        }
        kept.put("colliding", colliding);
        kept.put("ArrayList", new ArrayList<>(List.of("x", 1.5, 'c', true)));
        kept.put("Arrays.asList", Arrays.asList("x", null, "z"));
        kept.put("List0", List.of());
        kept.put("List1", List.of("x"));
        kept.put("List2", List.of("x", "y"));
        kept.put("ListN", List.of("x", "y", "z"));
        kept.put("UnmodifiableList", Collections.unmodifiableList(new ArrayList<>(List.of(1, 2))));
        kept.put("LinkedList", new LinkedList<>(List.of(1, 2, 3)));
        kept.put("Vector", new Vector<>(List.of(1, 2, 3)));
        ArrayDeque<Integer> deque = new ArrayDeque<>(8);
        for (int i = 0; i < 12; ++i) {
            deque.add(i);
            if (i % 2 == 1) {
                deque.poll();
            }
        }
        kept.put("ArrayDeque", deque);
        kept.put("PriorityQueue", new PriorityQueue<>(List.of(1, 2, 3)));
        kept.put("CopyOnWriteArrayList", new CopyOnWriteArrayList<>(List.of(1, 2)));
        kept.put("HashSet", new HashSet<>(List.of("x", "y")));
        kept.put("LinkedHashSet", new LinkedHashSet<>(List.of("x", "y")));
        kept.put("TreeSet", new TreeSet<>(List.of("x", "y")));
        kept.put("Set1", Set.of("x"));
        kept.put("Set2", Set.of("x", "y"));
        kept.put("SetN", Set.of("x", "y", "z"));
        kept.put("subList", new ArrayList<>(List.of(1, 2, 3, 4)).subList(1, 3));
        kept.put("keySet", new HashMap<>(Map.of("x", 1)).keySet());
        kept.put("Boolean", true);
        kept.put("Byte", (byte) -7);
        kept.put("Character", 'ß');
        kept.put("Short", (short) 300);
        kept.put("Integer", 70_000);
        kept.put("Long", 1L << 40);
        kept.put("Float", 0.5f);
        kept.put("Double", 0.1);
        kept.put("BigInteger", BigInteger.ONE.shiftLeft(100));
        kept.put("colour", Colour.RED);
        kept.put("bodied", Colour.GREEN);
        kept.put("Optional", Optional.of("there"));
        kept.put("empty", Optional.empty());
        kept.put("OptionalInt", OptionalInt.of(5));
        kept.put("String", "text with ä and \uD83D\uDE00");
        kept.put("exception", new IllegalStateException("outer", new RuntimeException("inner")));
        List<Object> circle = new ArrayList<>();
        circle.add(circle);
        kept.put("circle", circle);
        kept.put("ints", numbers);
        kept.put("booleans", new boolean[] {true, false});
        kept.put("bytes", new byte[] {1, -2});
        kept.put("chars", new char[] {'h', 'i'});
        kept.put("shorts", new short[] {1, -2});
        kept.put("longs", new long[] {1L << 40, -2});
        kept.put("floats", new float[] {0.5f, -2});
        kept.put("doubles", new double[] {0.1, -2});
        kept.put("strings", new String[] {"one", null, "three"});
        kept.put("mixed", new Object[] {"one", 2, null, new int[] {1}});
        kept.put("matrix", new int[][] {{1, 2}, {3}});
        kept.put("supplier", (Supplier<String>) () -> "supplied");
        kept.put("self", kept);
    }

    static class Colliding implements Comparable<Colliding> {
        final int number;

        Colliding(int number) {
            this.number = number;
        }

        public int hashCode() {
            return 1;
        }

        public boolean equals(Object other) {
            return other instanceof Colliding && ((Colliding) other).number == number;
        }

        public int compareTo(Colliding other) {
            return Integer.compare(number, other.number);
        }
    }

    static String show(Object object) {
        if (object instanceof int[]) {
            return Arrays.toString((int[]) object);
        }
        if (object instanceof Object[]) {
            return Arrays.deepToString((Object[]) object);
        }
        if (object instanceof Map) {
            return ((Map<?, ?>) object)
                    .entrySet().stream()
                            .map(e -> e.getKey() + "=" + e.getValue())
                            .sorted()
                            .collect(Collectors.joining(" "));
        }
        if (object instanceof Collection) {
            return ((Collection<?>) object)
                    .stream().map(String::valueOf).collect(Collectors.joining(" "));
        }
        return String.valueOf(object);
    }

    public static void main(String[] arguments) throws Exception {
        keep();
        Thread thread = new Thread(() -> {}, "unused");
        kept.put("thread", thread);
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ", 2);
            if (words[0].equals("show")) {
                System.out.println(show(kept.get(words[1])));
            } else if (words[0].equals("field")) {
                String[] names = words[1].split(" ");
                Class<?> type = Class.forName(names[0]);
                java.lang.reflect.Field field = type.getDeclaredField(names[1]);
                field.setAccessible(true);
                Object of = names.length > 2 ? kept.get(names[2]) : null;
                System.out.println(show(field.get(of)));
            } else if (words[0].equals("hold")) {
                holding = true;
                Thread holds =
                        new Thread(
                                () -> {
                                    try {
                                        holder.hold();
                                    } catch (InterruptedException e) {
                                        throw new AssertionError(e);
                                    }
                                },
                                "holds");
                holds.setDaemon(true);
                holds.start();
            } else if (words[0].equals("let go")) {
                holding = false;
                System.out.println("let go");
            } else if (words[0].equals("release")) {
                holding = false;
                System.out.println("released");
            } else if (words[0].equals("end")) {
                running = false;
                System.out.println("ended");
            } else if (words[0].equals("locks")) {
                System.out.println(Thread.holdsLock(holder));
                synchronized (holder) {
                    System.out.println("entered");
                }
            } else {
                System.out.println("error " + line);
            }
        }
    }
}
