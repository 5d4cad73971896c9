import static java.lang.Math.floorDiv;
import static java.util.Collections.nCopies;
import static java.util.Locale.ROOT;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Evaluates the expressions of a table, which the test puts in here, and prints what each is.
 *
 * <p>A first run stops at the marked line, so that a debugger can evaluate them there; a second one
 * begins with the same values and evaluates them as the compiler understands them.
 */
public class Judged extends Above implements Greets {
    static int imported() {
        return floorDiv(7, 2) + nCopies(1, ROOT).size();
    }

    enum Color {
        RED, GREEN {
            @Override
            String shade() {
                return "dark";
            }
        };

        String shade() {
            return "light";
        }
    }

    static class Box<T> {
        T held;
        final List<T> all = new ArrayList<>();

        Box(T held) {
            this.held = held;
            all.add(held);
        }

        T get() {
            return held;
        }

        <U> U echo(U one) {
            return one;
        }

        @Override
        public String toString() {
            return "Box(" + held + ")";
        }
    }

    class Inner {
        int depth = 2;

        Inner() {}

        Inner(int depth) {
            this.depth = depth;
        }

        int total() {
            return depth + number;
        }

        @Override
        public String toString() {
            return "Inner " + depth + " of " + number;
        }
    }

    static class Breaking {
        int fails() {
            throw new IllegalStateException("broken");
        }

        @Override
        public String toString() {
            throw new UnsupportedOperationException("no text");
        }
    }

    static int counter;
    static final long BIG = 1L << 40;
    static String[] words = {"zero", "one", null};

    int number = 7;
    long total = 1L << 33;
    private final String name = "judged";
    Integer boxed = 127;
    Integer missing;
    Object any = "any text";
    Judged next;
    int hidden = 2;
    double[] weights = {0.5, 1.5, -2.25};
    int[][] grid = {{1, 2, 3}, {4, 5}};

    @Override
    public String toString() {
        return "Judged " + number;
    }

    @Override
    String called() {
        return "here";
    }

    private String own(int n) {
        return "own " + n;
    }

    int bump() {
        return ++number;
    }

    static long sleeping(long milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
        return milliseconds;
    }

    static int count() {
        return ++counter;
    }

    // ---- overloads

    static String f(int n) {
        return "int";
    }

    static String f(long n) {
        return "long";
    }

    static String f(double n) {
        return "double";
    }

    static String f(Integer n) {
        return "Integer";
    }

    static String f(Object n) {
        return "Object";
    }

    static String f(int... n) {
        return "int..." + n.length;
    }

    static String g(Object o) {
        return "Object";
    }

    static String g(CharSequence o) {
        return "CharSequence";
    }

    static String g(String o) {
        return "String";
    }

    static String h(long n) {
        return "long";
    }

    static String h(Object n) {
        return "Object";
    }

    static String v(String first, Object... rest) {
        return first + rest.length;
    }

    static String v(String first) {
        return "one " + first;
    }

    static String w(char c) {
        return "char";
    }

    static String w(int c) {
        return "int";
    }

    static String x(List<?> c) {
        return "List";
    }

    static String x(Iterable<?> c) {
        return "Iterable";
    }

    static String y(byte b) {
        return "byte";
    }

    static String y(short b) {
        return "short";
    }

    static String y(float b) {
        return "float";
    }

    // PRINTED

    // ---- the frame

    static <T extends Comparable<T>> T larger(T one, T other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    void work(boolean compiled, String text, long large) {
        byte b = -128;
        short s = 32767;
        char c = 'x';
        int i = 42;
        int max = Integer.MAX_VALUE;
        int min = Integer.MIN_VALUE;
        long l = Long.MAX_VALUE;
        float f = 0.1f;
        double d = 2.5;
        boolean yes = true;
        boolean no = false;
        String nothing = null;
        Object o = "object text";
        Object number7 = 7;
        Integer big = 1000;
        Integer same = 1000;
        Long wide = 5L;
        Character boxedChar = 'q';
        Boolean boxedYes = true;
        int[] ints = {3, 1, 4, 1, 5};
        String[] strings = {"a", "b", null};
        Object[] objects = strings;
        List<String> list = new ArrayList<>(List.of("first", "second"));
        Map<String, Integer> map = new HashMap<>(Map.of("k", 12));
        Box<String> box = new Box<>("held");
        Box<Integer> counts = new Box<>(5);
        Inner inner = new Inner();
        Breaking breaking = new Breaking();
        Color color = Color.GREEN;
        Greets greets = this;
        CharSequence sequence = "seq";
        StringBuilder builder = new StringBuilder("build");
        Optional<String> maybe = Optional.of("there");
        stopped(); // here work
        if (!compiled) {
            return;
        }
        // EXPRESSIONS work
    }

    static void stopped() {}

    static void reset() {
        counter = 0;
        words = new String[] {"zero", "one", null};
        Above.origin = "above";
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() == '\n') {
            reset();
            new Judged().work(false, "text", 1L << 40);
            reset();
            new Judged().work(true, "text", 1L << 40);
            System.out.println("done");
        }
    }
}

interface Greets {
    int LEVEL = 3;

    default String greet(String name) {
        return "hello " + name;
    }

    static int twice(int n) {
        return 2 * n;
    }
}

class Above {
    static String origin = "above";
    protected int hidden = 1;
    private int secret = 11;
    int shared = 5;

    String called() {
        return "above";
    }

    protected long sum(long a, long b) {
        return a + b;
    }
}
