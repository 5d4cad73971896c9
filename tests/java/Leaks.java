import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * Leaks as programs have them, one or several by name, each with a class that owns it.
 *
 * <ul>
 *   <li>{@code static}: 8,000 carts in a list that a static field holds
 *   <li>{@code cache}: 6,000 pages in a map that four threads filled at once
 *   <li>{@code threadlocal}: each of 16 threads of a pool keeps a request
 *   <li>{@code listeners}: 500 panels that never left the list of listeners of a bus
 *   <li>{@code loaders}: an application that was deployed four times; what registered it still
 *       holds the first three
 *   <li>{@code reflection}: none; methods were called by reflection so often that the VM of older
 *       releases made a class loader for each
 *   <li>{@code classes}: none; a loader has many classes with static fields, two of which share
 *   <li>{@code engine}: none; a large object of many parts, a few of which are of one class
 * </ul>
 *
 * <p>Two commands: {@code g} lets the carts grow by a thousand, end of input ends.
 */
public class Leaks {
    static class Cart {
        final byte[] items = new byte[1000];
        final String customer = "customer " + hashCode();
    }

    static class CartStore {
        static final List<Cart> abandoned = new ArrayList<>();
    }

    static class Page {
        final byte[] text = new byte[1500];
    }

    static class Catalog {
        final Map<Long, Page> pages = new ConcurrentHashMap<>();
        static final Catalog INSTANCE = new Catalog();
    }

    static class Request {
        final List<byte[]> body = new ArrayList<>();
    }

    static class RequestContext {
        static final ThreadLocal<Request> CURRENT = new ThreadLocal<>();
    }

    interface Listener {
        void changed();
    }

    static class EventBus {
        final List<Listener> listeners = new ArrayList<>();
    }

    static class Application {
        static final EventBus bus = new EventBus();
    }

    static class Panel {
        final int[] pixels = new int[5000];

        void open() {
            Application.bus.listeners.add(
                    new Listener() {
                        @Override
                        public void changed() {
                            pixels[0]++;
                        }
                    });
        }
    }

    /** Of the application that is deployed again and again. */
    public static class Shop implements Runnable {
        static final List<Object> goods = new ArrayList<>();

        @Override
        public void run() {
            for (int i = 0; i < 600; i++) {
                goods.add(new byte[2000]);
            }
        }
    }

    /** Its class loader. */
    static class Deployment extends URLClassLoader {
        Deployment(URL[] path) {
            super(path, Leaks.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("Leaks$Shop")) {
                Class<?> found = findLoadedClass(name);
                return found == null ? findClass(name) : found;
            }
            return super.loadClass(name, resolve);
        }
    }

    static class Server {
        static final List<Runnable> shutdownHooks = new ArrayList<>();
        static ClassLoader current;
    }

    /** Of which a loader makes many classes. */
    static class Settings0000 {
        static byte[] own = new byte[3000];
        static Object shared;
    }

    /** Its class loader: the same class again and again, by other names. */
    static class Copying extends ClassLoader {
        Class<?> copy(byte[] file, int number) throws Exception {
            String latin = new String(file, "ISO-8859-1");
            String name = String.format("Settings%04d", number);
            byte[] made = latin.replace("Settings0000", name).getBytes("ISO-8859-1");
            Class<?> found = defineClass("Leaks$" + name, made, 0, made.length);
            return Class.forName(found.getName(), true, this);
        }
    }

    static class Engine {
        final Cart[] carts = new Cart[80];
        final Object[] belts = {new int[10000], new int[10000]};
        final Object[] wheels = {new long[5000], new long[5000]};
        final Object[] pipes = {new char[20000], new char[20000]};
        static final Engine INSTANCE = new Engine();
    }

    static final List<Thread> POOL = new ArrayList<>();
    static final List<Object> KEPT = new ArrayList<>();

    static void carts(int count) {
        for (int i = 0; i < count; i++) {
            CartStore.abandoned.add(new Cart());
        }
    }

    static void cache() throws Exception {
        Thread[] fillers = new Thread[4];
        for (int i = 0; i < fillers.length; i++) {
            int own = i;
            fillers[i] =
                    new Thread(
                            () -> {
                                for (long at = own; at < 6000; at += fillers.length) {
                                    Catalog.INSTANCE.pages.put(at * 7919, new Page());
                                }
                            });
            fillers[i].start();
        }
        for (Thread filler : fillers) {
            filler.join();
        }
    }

    static void threadLocals() throws Exception {
        CountDownLatch ready = new CountDownLatch(16);
        for (int i = 0; i < 16; i++) {
            Thread worker =
                    new Thread(
                            () -> {
                                Request request = new Request();
                                for (int at = 0; at < 300; at++) {
                                    request.body.add(new byte[2000]);
                                }
                                RequestContext.CURRENT.set(request);
                                request = null;
                                ready.countDown();
                                try {
                                    Thread.sleep(1L << 40);
                                } catch (InterruptedException gone) {
                                    return;
                                }
                            },
                            "worker-" + i);
            worker.setDaemon(true);
            worker.start();
            POOL.add(worker);
        }
        ready.await();
    }

    static void loaders(int times) throws Exception {
        URL[] path = {Leaks.class.getProtectionDomain().getCodeSource().getLocation()};
        Deployment before = null;
        for (int i = 0; i < times; i++) {
            Deployment made = new Deployment(path);
            Runnable shop =
                    (Runnable) made.loadClass("Leaks$Shop").getDeclaredConstructor().newInstance();
            shop.run();
            Server.shutdownHooks.add(shop);
            if (before != null) {
                before.close();
            }
            before = made;
        }
        Server.current = before;
    }

    static void reflection() throws Exception {
        for (Method method : Math.class.getMethods()) {
            if (method.getParameterCount() == 1 && method.getParameterTypes()[0] == double.class) {
                KEPT.add(method);
                for (int i = 0; i < 40; i++) {
                    method.invoke(null, 0.5);
                }
            }
        }
    }

    static void classes() throws Exception {
        byte[] file;
        try (InputStream in = Leaks.class.getResourceAsStream("Leaks$Settings0000.class")) {
            file = in.readAllBytes();
        }
        Copying loader = new Copying();
        Cart shared = new Cart();
        for (int i = 1; i <= 600; i++) {
            Field field = loader.copy(file, i).getDeclaredField("shared");
            if (i <= 2) {
                field.setAccessible(true);
                field.set(null, shared);
            }
        }
        KEPT.add(loader);
    }

    static void engine() {
        for (int i = 0; i < Engine.INSTANCE.carts.length; i++) {
            Engine.INSTANCE.carts[i] = new Cart();
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String leak : arguments) {
            switch (leak) {
                case "static": carts(8000); break;
                case "cache": cache(); break;
                case "threadlocal": threadLocals(); break;
                case "listeners":
                    for (int i = 0; i < 500; i++) {
                        new Panel().open();
                    }
                    break;
                case "loaders": loaders(4); break;
                case "reflection": reflection(); break;
                case "classes": classes(); break;
                case "engine": engine(); break;
                default: throw new IllegalArgumentException(leak);
            }
        }
        System.gc();
        System.out.println("ready");
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            if (read == 'g') {
                carts(1000);
                System.out.println("grown");
            }
        }
        System.exit(0);
    }
}
