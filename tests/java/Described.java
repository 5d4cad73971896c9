import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Has classes of every sort, and says of them what reflection says.
 *
 * <p>{@code class NAME}, {@code methods NAME}, {@code fields NAME}, {@code public NAME}, {@code
 * declared NAME}, {@code nest NAME}, {@code assignable NAME NAME}, {@code module NAME}, {@code
 * opens NAME}, {@code mark}, {@code answer}: one line each, items separated by semicolons.
 */
public class Described {
    enum Color { RED, GREEN }

    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.TYPE, ElementType.METHOD, ElementType.FIELD, ElementType.PARAMETER})
    @interface Mark {
        int number() default 7;
        String text() default "none";
        double[] ratios() default {0.5, 1e10};
        Color color() default Color.RED;
        Class<?> type() default int[].class;
        char letter() default 'x';
        boolean truth() default true;
        Inner inner() default @Inner("deep");
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Inner {
        String value();
    }

    @Retention(RetentionPolicy.CLASS)
    @interface Unseen {}

    interface Shape {
        int SIDES = 4;

        double area();

        default String describe() {
            return "shape " + hidden();
        }

        static Shape none() {
            return () -> 0;
        }

        private String hidden() {
            return "of " + area();
        }
    }

    abstract static class Base<T extends Comparable<T>> implements Shape {
        protected volatile T size;
        private transient int secret = 3;

        protected Base(T size) {
            this.size = size;
        }

        protected abstract T twice();

        private int own() {
            return secret;
        }

        protected final synchronized int peek() {
            return own();
        }
    }

    @Mark(number = 11, text = "a \"circle\"", ratios = {1.5}, color = Color.GREEN, type = Map.class)
    @Unseen
    static final class Circle extends Base<Integer> {
        static final String NAME = "circle";
        static final long BIG = 1L << 40;
        static final float HALF = 0.5f;
        @Mark public List<? extends Map<String, int[]>> parts = new ArrayList<>();

        Circle(int size) {
            super(size);
        }

        @Override
        protected Integer twice() {
            return size * 2;
        }

        @Override
        public double area() {
            return Math.PI * size * size;
        }

        public void put(Object key) {}

        public void put(Object key, Object value) {}

        public void put(String key, int... values) {}

        @Mark(letter = 'é', truth = false)
        @Deprecated
        public <K extends Comparable<K>, E extends Exception> Map<K, ? super Integer> mixed(
                @Mark(number = 1) K key, long wide, @Unseen double[][] grid) throws E, IOException {
            int sum = 0;
            for (double[] row : grid) {
                try {
                    sum += row.length;
                } catch (NullPointerException failed) {
                    sum -= 1;
                } finally {
                    sum *= 2;
                }
            }
            switch (sum) {
                case 1: return null;
                case 2: return Map.of();
                case 1000: return Map.of(key, 3);
                default: throw new IOException("no " + sum + " \t'\u00e9\ud83d\ude00");
            }
        }

        Supplier<String> later() {
            class Local {
                String text() {
                    return NAME;
                }
            }
            Function<Local, String> through = Local::text;
            return () -> through.apply(new Local());
        }

        Object anonymous() {
            return new Object() {
                @Override
                public String toString() {
                    return "anonymous " + size;
                }
            };
        }

        static native void nothing();

        static String answer() {
            return "one";
        }
    }

    /** Defines a class of its own that others have, too. */
    static class Own extends ClassLoader {
        Own(String name) {
            super(name, Described.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Described$Twice")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getResourceAsStream("Described$Twice.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException failed) {
                throw new ClassNotFoundException(name, failed);
            }
        }
    }

    static class Twice {}

    static final List<Object> kept = new ArrayList<>();

    static Class<?> named(String name) throws ClassNotFoundException {
        return Class.forName(name, false, Described.class.getClassLoader());
    }

    static String nameOf(Class<?> type) {
        return type == null ? "none" : type.getName();
    }

    static String joined(Collection<?> items) {
        return items.stream().map(String::valueOf).sorted().collect(Collectors.joining(";"));
    }

    static String descriptor(Executable one) {
        Class<?> result = one instanceof Method ? ((Method) one).getReturnType() : void.class;
        return MethodType.methodType(result, one.getParameterTypes()).toMethodDescriptorString();
    }

    static List<Executable> executables(Class<?> type) {
        List<Executable> found = new ArrayList<>(Arrays.asList(type.getDeclaredMethods()));
        found.addAll(Arrays.asList(type.getDeclaredConstructors()));
        return found;
    }

    static String answer(String[] words) throws Exception {
        if (words[0].equals("answer")) {
            return Circle.answer();
        }
        if (words[0].equals("mark")) {
            return String.valueOf(Circle.class.getAnnotation(Mark.class).number());
        }
        Class<?> type = named(words[1]);
        switch (words[0]) {
            case "class":
                ClassLoader loader = type.getClassLoader();
                return String.join(
                        ";", "" + type.getModifiers(), nameOf(type.getSuperclass()),
                        Arrays.stream(type.getInterfaces()).map(Class::getName)
                                .collect(Collectors.joining(",")),
                        loader == null ? "bootstrap" : loader.getName(), type.getPackageName(),
                        "" + type.getModule().getName(), "" + type.isInterface(), "" + type.isEnum(),
                        "" + type.isAnnotation(), "" + type.isArray());
            case "methods":
                List<String> methods = new ArrayList<>();
                for (Executable one : executables(type)) {
                    String name = one instanceof Method ? one.getName() : "<init>";
                    methods.add(name + descriptor(one) + " " + one.getModifiers()
                            + " " + Arrays.stream(one.getExceptionTypes()).map(Class::getName)
                                    .collect(Collectors.joining(",")));
                }
                return joined(methods);
            case "fields":
                List<String> fields = new ArrayList<>();
                for (Field one : type.getDeclaredFields()) {
                    fields.add(one.getName() + " " + one.getType().getTypeName()
                            + " " + one.getModifiers() + " " + one.getGenericType().getTypeName());
                }
                return joined(fields);
            case "public":
                List<String> open = new ArrayList<>();
                for (Method one : type.getMethods()) {
                    boolean inherited = !one.getDeclaringClass().isInterface()
                            || !Modifier.isStatic(one.getModifiers());
                    if (inherited) open.add(one.getName() + descriptor(one));
                }
                return joined(new TreeSet<>(open));
            case "declared":
                return joined(Arrays.stream(type.getDeclaredClasses()).map(Class::getName)
                        .collect(Collectors.toList()));
            case "nest":
                return String.join(
                        ";", type.getNestHost().getName(), nameOf(type.getEnclosingClass()),
                        "" + (type.getEnclosingMethod() == null
                                ? null : type.getEnclosingMethod().getName()));
            case "assignable":
                return String.valueOf(named(words[2]).isAssignableFrom(type));
            case "packages":
                return joined(type.getModule().getPackages());
            case "exports":
                return joined(type.getModule().getPackages().stream()
                        .filter(type.getModule()::isExported).collect(Collectors.toList()));
            case "opens":
                return joined(type.getModule().getPackages().stream()
                        .filter(type.getModule()::isOpen).collect(Collectors.toList()));
            case "reads":
                return joined(ModuleLayer.boot().modules().stream()
                        .filter(type.getModule()::canRead).map(Module::getName)
                        .collect(Collectors.toList()));
            default:
                return "?";
        }
    }

    public static void main(String[] arguments) throws Exception {
        Circle circle = new Circle(2);
        kept.add(circle.later());
        kept.add(circle.later().get());
        kept.add(circle.anonymous());
        kept.add(Shape.none());
        kept.add(new Twice());
        for (String name : new String[] {"first", "second"}) {
            kept.add(new Own(name).loadClass("Described$Twice", true).getDeclaredConstructor());
        }
        kept.add(Circle.class.getAnnotation(Mark.class));
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
    }
}
