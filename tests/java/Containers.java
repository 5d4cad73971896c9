import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/**
 * The collections of the JDK, in the states that programs leave them in.
 *
 * <p>{@code kept} has each by a name. One command a line, one line of answer: {@code tell NAME} is
 * what Java itself says that is in it, {@code names} are all names, {@code put NAME KEY} looks
 * whether a map has a key. While {@code churning} is on, a thread changes those named {@code changing …}.
 */
public class Containers {
    static final Map<String, Object> kept = new LinkedHashMap<>();
    static volatile boolean churning;
    static final CountDownLatch never = new CountDownLatch(1);

    enum Color { RED, GREEN { }, BLUE }

    /** A program's own subclass keeps its elements where the class above does, or elsewhere. */
    static class OwnMap extends HashMap<String, Object> {
        @Override
        public Object get(Object key) {
            return "own";
        }
    }

    static class OwnList extends AbstractList<Object> {
        @Override
        public Object get(int index) {
            return index * 2;
        }

        @Override
        public int size() {
            return 5;
        }
    }

    static class Waiting implements Delayed {
        final int number;

        Waiting(int number) {
            this.number = number;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(number, TimeUnit.HOURS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Integer.compare(number, ((Waiting) other).number);
        }
    }

    public static void main(String[] arguments) throws Exception {
        maps();
        collections();
        values();
        contended();
        resizing();
        churn();
        System.out.println("ready");
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = reader.readLine()) != null; ) {
            String[] words = line.split(" ", 2);
            if (words[0].equals("names")) {
                System.out.println(String.join(",", kept.keySet()));
            } else if (words[0].equals("tell")) {
                System.out.println(tell(kept.get(words[1])));
            } else if (words[0].equals("churn")) {
                churning = words[1].equals("on");
                System.out.println("churning " + words[1]);
            }
        }
    }

    // ---- what Java says ----

    static String tell(Object value) {
        StringJoiner all = new StringJoiner("|");
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                all.add(one(entry.getKey()) + "=" + one(entry.getValue()));
            }
        } else if (value instanceof Iterable) {
            for (Object element : (Iterable<?>) value) {
                all.add(one(element));
            }
        } else if (value instanceof BitSet) {
            ((BitSet) value).stream().forEach(bit -> all.add(one(bit)));
        } else {
            return one(value);
        }
        return all.toString();
    }

    static String one(Object value) {
        if (value == null || value instanceof String || value instanceof Number
                || value instanceof Boolean || value instanceof Character) {
            return String.valueOf(value);
        }
        return "<" + value.getClass().getName() + ">";
    }

    // ---- the states ----

    /** Fills a map, and leaves it empty, small, grown, half-drained and with one bin for all. */
    interface Maker<T> {
        T make();
    }

    static void states(String name, Maker<Map<String, Object>> maker) {
        kept.put(name + " empty", maker.make());
        Map<String, Object> small = maker.make();
        for (int i = 0; i < 5; i++) {
            small.put("key" + i, i);
        }
        kept.put(name + " small", small);
        Map<String, Object> drained = maker.make();
        for (int i = 0; i < 3000; i++) {
            drained.put("key" + i, i);
        }
        for (int i = 0; i < 2900; i++) {
            drained.remove("key" + i);
        }
        kept.put(name + " drained", drained);
        Map<String, Object> emptied = maker.make();
        emptied.put("a", 1);
        emptied.remove("a");
        kept.put(name + " emptied", emptied);
        Map<String, Object> colliding = maker.make();
        for (int i = 0; i < 128; i++) {
            StringBuilder key = new StringBuilder();
            for (int bit = 0; bit < 7; bit++) {
                key.append((i >> bit & 1) == 0 ? "Aa" : "BB"); // of the same hash code
            }
            colliding.put(key.toString(), i);
        }
        colliding.put("another", 1.5);
        kept.put(name + " colliding", colliding);
        if (!(maker.make() instanceof ConcurrentMap) && !(maker.make() instanceof Hashtable)) {
            Map<String, Object> nulls = maker.make();
            nulls.put("null", null);
            nulls.put("b", 2L);
            kept.put(name + " of null", nulls);
        }
        kept.put(name + " keys", small.keySet());
        kept.put(name + " values", drained.values());
    }

    static void maps() {
        states("HashMap", HashMap::new);
        states("LinkedHashMap", LinkedHashMap::new);
        states("TreeMap", TreeMap::new);
        states("TreeMap reversed", () -> new TreeMap<>(Comparator.reverseOrder()));
        states("Hashtable", Hashtable::new);
        states("ConcurrentHashMap", ConcurrentHashMap::new);
        states("ConcurrentSkipListMap", ConcurrentSkipListMap::new);
        states("WeakHashMap", WeakHashMap::new);
        states("IdentityHashMap", IdentityHashMap::new);
        states("synchronizedMap", () -> Collections.synchronizedMap(new HashMap<>()));
        states("synchronizedSortedMap", () -> Collections.synchronizedSortedMap(new TreeMap<>()));
        states("synchronizedNavigableMap",
                () -> Collections.synchronizedNavigableMap(new TreeMap<>()));
        states("checkedMap",
                () -> Collections.checkedMap(new HashMap<>(), String.class, Object.class));

        Map<Object, Object> nullKey = new HashMap<>();
        nullKey.put(null, "of null");
        nullKey.put('c', true);
        kept.put("HashMap with null", nullKey);
        kept.put("WeakHashMap with null", new WeakHashMap<>(nullKey));
        kept.put("IdentityHashMap with null", new IdentityHashMap<>(nullKey));
        Map<Object, Object> ordered = new LinkedHashMap<>(16, 0.75f, true);
        for (int i = 0; i < 9; i++) {
            ordered.put(i, "v" + i);
        }
        ordered.get(3);
        kept.put("LinkedHashMap by access", ordered);
        Properties properties = new Properties(new Properties());
        properties.setProperty("a", "1");
        properties.setProperty("b", "2");
        kept.put("Properties", properties);
        kept.put("Properties empty", new Properties());
        EnumMap<Color, Object> colors = new EnumMap<>(Color.class);
        kept.put("EnumMap empty", new EnumMap<Color, Object>(Color.class));
        colors.put(Color.BLUE, 3);
        colors.put(Color.GREEN, null);
        kept.put("EnumMap", colors);
        Map<String, Object> plain = new TreeMap<>();
        for (int i = 0; i < 12; i++) {
            plain.put("k" + i, i);
        }
        TreeMap<String, Object> tree = new TreeMap<>(plain);
        kept.put("unmodifiableMap", Collections.unmodifiableMap(plain));
        kept.put("unmodifiableMap keys", Collections.unmodifiableMap(plain).keySet());
        kept.put("unmodifiableMap values", Collections.unmodifiableMap(plain).values());
        kept.put("unmodifiableSortedMap", Collections.unmodifiableSortedMap(tree));
        kept.put("unmodifiableNavigableMap", Collections.unmodifiableNavigableMap(tree));
        kept.put("emptyMap", Collections.emptyMap());
        kept.put("emptySortedMap", Collections.emptySortedMap());
        kept.put("singletonMap", Collections.singletonMap("one", null));
        kept.put("Map.of", Map.of());
        kept.put("Map.of 1", Map.of("a", 1));
        kept.put("Map.of 2", Map.of("a", 1, "b", 2));
        kept.put("Map.of 6", Map.of(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
        kept.put("Map.copyOf", Map.copyOf(plain));
        kept.put("subMap", tree.subMap("k1", "k3"));
        kept.put("descendingMap", tree.descendingMap());
        kept.put("headMap keys", tree.headMap("k4").keySet());
        kept.put("skip list subMap", new ConcurrentSkipListMap<>(plain).subMap("k1", "k3"));
        OwnMap own = new OwnMap();
        own.put("key", 5);
        kept.put("own map", own);
        Map<Object, Object> numbers = new LinkedHashMap<>();
        numbers.put(1, "int");
        numbers.put(1L, "long");
        numbers.put(true, "boolean");
        numbers.put(1.0, "double");
        numbers.put(2, "two");
        kept.put("numbers", numbers);
        kept.put("numbers as a set", new LinkedHashSet<>(numbers.keySet()));
        Map<Object, Object> twins = new IdentityHashMap<>();
        twins.put(new String("twin"), 1);
        twins.put(new String("twin"), 2);
        kept.put("twins", twins);
        Map<Long, String> longs = new HashMap<>();
        Map<Byte, String> bytes = new TreeMap<>();
        for (int i = 0; i < 10; i++) {
            longs.put((long) i, "long " + i);
            bytes.put((byte) i, "byte " + i);
        }
        kept.put("by long", longs);
        kept.put("by byte", bytes);
        kept.put("by long, own", new AbstractMap<Long, String>() {
            @Override
            public Set<Map.Entry<Long, String>> entrySet() {
                return longs.entrySet();
            }
        });
        kept.put("of floats", new ArrayList<>(List.of(0.5f, 1.5f)));
        kept.put("entry", longs.entrySet().iterator().next());
        kept.put("entry of", Map.entry("k", 5));
    }

    static void collected(String name, Maker<Collection<Object>> maker) {
        kept.put(name + " empty", maker.make());
        Collection<Object> small = maker.make();
        for (int i = 0; i < 5; i++) {
            small.add(i * 7 % 5);
        }
        kept.put(name + " small", small);
        Collection<Object> drained = maker.make();
        for (int i = 0; i < 2000; i++) {
            drained.add("element" + i);
        }
        int left = 1900;
        for (Iterator<Object> each = drained.iterator(); each.hasNext() && left-- > 0; ) {
            each.next();
            if (!name.startsWith("CopyOnWrite")) {
                each.remove();
            }
        }
        kept.put(name + " drained", drained);
        if (drained instanceof Queue) {
            Queue<Object> queue = (Queue<Object>) maker.make();
            for (int round = 0; round < 30; round++) {
                for (int i = 0; i < 10; i++) {
                    queue.add(round * 10 + i);
                }
                for (int i = 0; i < 9; i++) {
                    queue.poll();
                }
            }
            kept.put(name + " turned", queue);
        }
        Collection<Object> emptied = maker.make();
        emptied.add("gone");
        emptied.remove("gone");
        kept.put(name + " emptied", emptied);
    }

    static void collections() {
        collected("ArrayList", ArrayList::new);
        collected("LinkedList", LinkedList::new);
        collected("Vector", Vector::new);
        collected("Stack", Stack::new);
        collected("CopyOnWriteArrayList", CopyOnWriteArrayList::new);
        collected("CopyOnWriteArraySet", CopyOnWriteArraySet::new);
        collected("HashSet", HashSet::new);
        collected("LinkedHashSet", LinkedHashSet::new);
        collected("TreeSet", () -> new TreeSet<>(Comparator.comparing(String::valueOf)));
        collected("ConcurrentSkipListSet",
                () -> new ConcurrentSkipListSet<>(Comparator.comparing(String::valueOf)));
        collected("newKeySet", ConcurrentHashMap::newKeySet);
        collected("newSetFromMap", () -> Collections.newSetFromMap(new ConcurrentHashMap<>()));
        collected("ArrayDeque", ArrayDeque::new);
        collected("PriorityQueue",
                () -> new PriorityQueue<>(Comparator.comparing(String::valueOf)));
        collected("PriorityBlockingQueue",
                () -> new PriorityBlockingQueue<>(5, Comparator.comparing(String::valueOf)));
        collected("ArrayBlockingQueue", () -> new ArrayBlockingQueue<>(2000));
        collected("LinkedBlockingQueue", LinkedBlockingQueue::new);
        collected("LinkedBlockingDeque", LinkedBlockingDeque::new);
        collected("ConcurrentLinkedQueue", ConcurrentLinkedQueue::new);
        collected("ConcurrentLinkedDeque", ConcurrentLinkedDeque::new);
        collected("LinkedTransferQueue", LinkedTransferQueue::new);
        collected("synchronizedList", () -> Collections.synchronizedList(new ArrayList<>()));
        collected("synchronizedSet", () -> Collections.synchronizedSet(new HashSet<>()));
        collected("synchronizedSortedSet", () -> Collections.synchronizedSortedSet(
                new TreeSet<>(Comparator.comparing(String::valueOf))));
        collected("synchronizedCollection",
                () -> Collections.synchronizedCollection(new ArrayDeque<>()));
        collected("checkedList", () -> Collections.checkedList(new ArrayList<>(), Object.class));
        collected("checkedQueue", () -> Collections.checkedQueue(new ArrayDeque<>(), Object.class));
        collected("asLifoQueue", () -> Collections.asLifoQueue(new ArrayDeque<>()));

        List<Object> mixed = new ArrayList<>(Arrays.asList(1, "b", null, 2.5, 'x', true, new Object()));
        kept.put("mixed", mixed);
        kept.put("Arrays.asList", Arrays.asList("a", null, 3));
        kept.put("Arrays.asList empty", Arrays.asList());
        kept.put("asList subList", Arrays.asList(1, 2, 3, 4).subList(1, 3));
        List<Object> many = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            many.add(i);
        }
        kept.put("subList", many.subList(10, 20));
        kept.put("subList of subList", many.subList(10, 20).subList(2, 4));
        kept.put("linked subList", new LinkedList<>(many).subList(3, 6));
        kept.put("List.of", List.of());
        kept.put("List.of 1", List.of("a"));
        kept.put("List.of 2", List.of("a", 2));
        kept.put("List.of 5", List.of(1, 2, 3, 4, 5));
        kept.put("List.of subList", List.of(1, 2, 3, 4, 5).subList(1, 3));
        kept.put("Set.of", Set.of());
        kept.put("Set.of 1", Set.of(1));
        kept.put("Set.of 2", Set.of(1, "2"));
        kept.put("Set.of 9", Set.of(1, 2, 3, 4, 5, 6, 7, 8, 9));
        kept.put("emptyList", Collections.emptyList());
        kept.put("emptySet", Collections.emptySet());
        kept.put("emptySortedSet", Collections.emptySortedSet());
        kept.put("singletonList", Collections.singletonList(null));
        kept.put("singleton", Collections.singleton(5));
        kept.put("nCopies", Collections.nCopies(4, "x"));
        kept.put("unmodifiableCollection", Collections.unmodifiableCollection(new ArrayDeque<>(List.of(1, 2))));
        kept.put("unmodifiableList", Collections.unmodifiableList(mixed));
        kept.put("unmodifiableLinkedList", Collections.unmodifiableList(new LinkedList<>(mixed)));
        kept.put("unmodifiableSet", Collections.unmodifiableSet(new HashSet<>(mixed)));
        kept.put("unmodifiableSortedSet", Collections.unmodifiableSortedSet(new TreeSet<>(List.of(3, 1, 2))));
        kept.put("unmodifiableNavigableSet", Collections.unmodifiableNavigableSet(new TreeSet<>(List.of(3, 1, 2))));
        kept.put("descendingSet", new TreeSet<>(List.of(3, 1, 2)).descendingSet());
        kept.put("SynchronousQueue", new SynchronousQueue<>());
        DelayQueue<Waiting> delayed = new DelayQueue<>();
        delayed.add(new Waiting(5));
        delayed.add(new Waiting(3));
        kept.put("DelayQueue", delayed);
        kept.put("EnumSet", EnumSet.of(Color.GREEN, Color.BLUE));
        kept.put("EnumSet none", EnumSet.noneOf(Color.class));
        kept.put("EnumSet large", EnumSet.range(
                Character.UnicodeScript.ARMENIAN, Character.UnicodeScript.TIBETAN));
        kept.put("own list", new OwnList());
    }

    static void values() {
        BitSet bits = new BitSet();
        kept.put("BitSet empty", new BitSet(500));
        bits.set(0);
        bits.set(63, 66);
        bits.set(1000);
        bits.set(5000);
        bits.clear(5000);
        kept.put("BitSet", bits);
        kept.put("value uuid", new UUID(-5, 17));
        kept.put("value date", LocalDate.of(2024, 2, 29));
        kept.put("value far", LocalDate.MAX);
        kept.put("value time", LocalTime.of(23, 59, 58, 123_456_789));
        kept.put("value datetime", LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4000));
        kept.put("value instant", Instant.parse("1969-12-31T23:59:59.000001Z"));
        kept.put("value never", Instant.MAX);
        kept.put("value offset", OffsetDateTime.of(2024, 1, 1, 0, 0, 0, 0, ZoneOffset.ofHours(-3)));
        kept.put("value zoned", Instant.ofEpochSecond(1_700_000_000).atZone(ZoneOffset.ofHours(2)));
        kept.put("value duration", Duration.ofMillis(-1500));
        kept.put("value old date", new Date(1_700_000_000_123L));
        kept.put("value big", BigInteger.TEN.pow(40).negate());
        kept.put("value zero", BigInteger.ZERO);
        kept.put("value decimal", new BigDecimal("-12.340"));
        kept.put("value large decimal", new BigDecimal("123456789012345678901234567890.5E-7"));
        kept.put("value exponent", new BigDecimal("1E+3"));
        kept.put("value optional", Optional.of("x"));
        kept.put("value nothing", Optional.empty());
        kept.put("value optional int", OptionalInt.of(0));
        kept.put("value atomic boolean", new AtomicBoolean(true));
        kept.put("value atomic long", new AtomicLong(1L << 40));
        kept.put("value atomic reference", new AtomicReference<>("held"));
        kept.put("value atomic array", new AtomicIntegerArray(new int[] {1, 2}));
        LongAdder adder = new LongAdder();
        adder.add(42);
        kept.put("value adder", adder);
        kept.put("value builder", new StringBuilder("built").append('\u00e4'));
        kept.put("value buffer", new StringBuffer("\u65e5\u672c"));
        kept.put("value enum", Color.GREEN);
        kept.put("plain", new Waiting(1));
    }

    /** Threads get in each other's way until the map counts in several places. */
    static void contended() throws Exception {
        ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();
        LongAdder adder = new LongAdder();
        Field cells = ConcurrentHashMap.class.getDeclaredField("counterCells");
        Field parts = Class.forName("java.util.concurrent.atomic.Striped64").getDeclaredField("cells");
        cells.setAccessible(true);
        parts.setAccessible(true);
        AtomicInteger next = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                try {
                    do {
                        for (int j = 0; j < 200; j++) {
                            int key = next.getAndIncrement();
                            map.put(key % 4000, key);
                            if (key % 3 == 0) {
                                map.remove(key % 4000);
                            }
                            adder.increment();
                        }
                    } while (cells.get(map) == null || parts.get(adder) == null);
                } catch (IllegalAccessException impossible) {
                    throw new AssertionError(impossible);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        kept.put("ConcurrentHashMap contended", map);
        kept.put("ConcurrentHashMap contended keys", map.keySet());
        kept.put("ConcurrentHashMap contended values", map.values());
        kept.put("value contended adder", adder);
    }

    /** One thread computes a value for ever, and so another cannot finish making the table larger. */
    static void resizing() throws Exception {
        ConcurrentHashMap<Integer, Object> map = new ConcurrentHashMap<>();
        for (int i = 1; i < 10; i++) {
            map.put(i, i);
        }
        CountDownLatch computing = new CountDownLatch(1);
        Thread slow = new Thread(() -> map.computeIfAbsent(0, key -> {
            computing.countDown();
            try {
                never.await();
            } catch (InterruptedException expected) {
                return 0;
            }
            return 0;
        }), "slow");
        slow.setDaemon(true);
        slow.start();
        computing.await();
        Thread growing = new Thread(() -> {
            for (int i = 17; i < 48; i++) {
                map.put(i, "n" + i);
            }
        }, "growing");
        growing.setDaemon(true);
        growing.start();
        while (growing.getState() != Thread.State.BLOCKED) {
            Thread.sleep(5);
        }
        kept.put("ConcurrentHashMap resizing", map);
    }

    static void churn() {
        Map<Integer, Object> hash = new HashMap<>();
        Map<Integer, Object> concurrent = new ConcurrentHashMap<>();
        Map<Integer, Object> tree = new TreeMap<>();
        Map<Integer, Object> skips = new ConcurrentSkipListMap<>();
        List<Object> list = new ArrayList<>();
        Deque<Object> deque = new ArrayDeque<>();
        Queue<Object> linked = new ConcurrentLinkedQueue<>();
        Queue<Object> blocking = new LinkedBlockingQueue<>();
        Queue<Object> ordered = new PriorityQueue<>();
        List<Object> copied = new CopyOnWriteArrayList<>();
        kept.put("changing HashMap", hash);
        kept.put("changing ConcurrentHashMap", concurrent);
        kept.put("changing TreeMap", tree);
        kept.put("changing ConcurrentSkipListMap", skips);
        kept.put("changing ArrayList", list);
        kept.put("changing ArrayDeque", deque);
        kept.put("changing ConcurrentLinkedQueue", linked);
        kept.put("changing LinkedBlockingQueue", blocking);
        kept.put("changing PriorityQueue", ordered);
        kept.put("changing CopyOnWriteArrayList", copied);
        for (int i = 0; i < 50; i++) {
            for (Map<Integer, Object> one : List.of(hash, concurrent, tree, skips)) {
                one.put(-1 - i, "constant");
            }
        }
        Thread thread = new Thread(() -> {
            for (int i = 0; ; i++) {
                while (!churning) {
                    try {
                        Thread.sleep(5);
                    } catch (InterruptedException expected) {
                        return;
                    }
                }
                int key = i % 2000;
                for (Map<Integer, Object> one : Arrays.asList(hash, concurrent, tree, skips)) {
                    if (i / 2000 % 2 == 0) {
                        one.put(key, i);
                    } else {
                        one.remove(key);
                    }
                }
                for (Collection<Object> one : Arrays.asList(list, copied)) {
                    if (one.size() < 100) {
                        one.add(key);
                    } else {
                        one.clear();
                    }
                }
                for (Queue<Object> one : Arrays.asList(deque, linked, blocking, ordered)) {
                    one.add(key);
                    if (one.size() > 100) {
                        one.poll();
                        one.poll();
                    }
                }
            }
        }, "churn");
        thread.setDaemon(true);
        thread.start();
    }
}
