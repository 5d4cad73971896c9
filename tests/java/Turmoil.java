import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does all at once that makes it hard to walk stacks: loads and unloads classes, which takes
 * compiled code back, throws through deep stacks, fills a small heap, starts and ends threads, and
 * waits for locks. A line on standard input is answered by how often it has done each. With the
 * argument {@code virtual} all of it happens on virtual threads, which wait in the middle of their
 * stacks and yield their carriers all the time.
 */
public class Turmoil {
    static final AtomicLong loaded = new AtomicLong();
    static final AtomicLong thrown = new AtomicLong();
    static final AtomicLong allocated = new AtomicLong();
    static final AtomicLong started = new AtomicLong();
    static final AtomicLong locked = new AtomicLong();
    static final ReentrantLock lock = new ReentrantLock();
    static final Object monitor = new Object();
    static volatile Object kept;
    static volatile long sink;
    static Method startVirtual;

    public static class Base {
        public int value(int i) {
            return i + 1;
        }
    }

    public static class Other extends Base {
        @Override
        public int value(int i) {
            return i * 31;
        }
    }

    static class Loader extends ClassLoader {
        private final byte[] bytes;

        Loader(byte[] bytes) {
            super(Turmoil.class.getClassLoader());
            this.bytes = bytes;
        }

        Class<?> define() {
            return defineClass("Turmoil$Other", bytes, 0, bytes.length);
        }
    }

    static int sum(Base base) {
        int sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += base.value(i);
        }
        return sum;
    }

    /** Compiled code that believes in one class is thrown away when another comes. */
    static void classes() throws Exception {
        byte[] bytes;
        try (InputStream in = Turmoil.class.getResourceAsStream("Turmoil$Other.class")) {
            bytes = in.readAllBytes();
        }
        while (true) {
            pause();
            Base made =
                    (Base) new Loader(bytes).define().getDeclaredConstructor().newInstance();
            sink += sum(new Base()) + sum(made);
            loaded.incrementAndGet();
        }
    }

    static int deep(int depth) {
        if (depth == 0) {
            pause();
            throw new IllegalStateException("deep");
        }
        return deep(depth - 1) + 1;
    }

    static void exceptions() {
        for (int i = 0; true; i++) {
            try {
                sink += deep(i % 300);
            } catch (IllegalStateException e) {
                sink += e.getStackTrace().length;
            }
            try {
                kept = null;
                sink += kept.hashCode();
            } catch (NullPointerException e) {
                thrown.addAndGet(2);
            }
        }
    }

    static void garbage() {
        List<byte[]> some = new ArrayList<>();
        while (true) {
            pause();
            some.add(new byte[4000]);
            if (some.size() == 500) {
                some.clear();
            }
            allocated.incrementAndGet();
        }
    }

    static void threads() throws InterruptedException {
        while (true) {
            Thread[] some = new Thread[10];
            for (int i = 0; i < some.length; i++) {
                some[i] =
                        started(
                                "short " + i,
                                () -> {
                                    pause();
                                    sink += sum(new Base());
                                });
            }
            for (Thread one : some) {
                one.join();
            }
            started.addAndGet(some.length);
        }
    }

    static void locks() {
        while (true) {
            lock.lock();
            try {
                pause();
                synchronized (monitor) {
                    sink += sum(new Base());
                }
            } finally {
                lock.unlock();
            }
            locked.incrementAndGet();
        }
    }

    interface Work {
        void run() throws Exception;
    }

    /** A virtual thread leaves its carrier here: for a moment, or to wait for one. */
    static void pause() {
        if (startVirtual == null) {
            return;
        }
        if ((System.nanoTime() & 0x300) == 0) {
            LockSupport.parkNanos(20_000);
        } else {
            Thread.yield();
        }
    }

    static Thread started(String name, Runnable body) {
        if (startVirtual != null) {
            try {
                return (Thread) startVirtual.invoke(null, body);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void start(String name, Work work) {
        started(
                name,
                () -> {
                    try {
                        work.run();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
        }
        start("classes", Turmoil::classes);
        start("exceptions", Turmoil::exceptions);
        start("garbage", Turmoil::garbage);
        start("threads", Turmoil::threads);
        start("locks 1", Turmoil::locks);
        start("locks 2", Turmoil::locks);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        while (in.readLine() != null) {
            System.out.println(
                    "done " + loaded + " " + thrown + " " + allocated + " " + started + " "
                            + locked);
        }
    }
}
