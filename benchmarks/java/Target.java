import java.util.concurrent.CountDownLatch;

/**
 * What the benchmarks look at: a hundred sleeping threads, or what {@code -Dthreads} says, with
 * twenty frames of their own each, and as many loaded classes as a small service has.
 */
public class Target {
    static final int THREADS = Integer.getInteger("threads", 100);
    static final CountDownLatch asleep = new CountDownLatch(THREADS);

    public static void main(String[] arguments) throws Exception {
        start();
        asleep.await();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // Until somebody closes standard input.
        }
        System.exit(0);
    }

    /** What the benchmark in this process calls, instead of main. */
    static void start() {
        load();
        for (int number = 0; number < THREADS; number++) {
            Thread thread = new Thread(() -> descend(20), "worker-" + number);
            thread.setDaemon(true);
            thread.start();
        }
    }

    static void descend(int level) {
        if (level > 0) {
            descend(level - 1);
        } else {
            asleep.countDown();
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Loads classes of the platform until there are more than a thousand. */
    static void load() {
        String[] names = {
            "java.net.http.HttpClient", "java.util.concurrent.ForkJoinPool",
            "java.util.stream.Collectors", "java.time.ZonedDateTime", "java.text.DecimalFormat",
            "java.util.logging.LogManager", "java.util.zip.ZipOutputStream",
            "java.nio.channels.AsynchronousSocketChannel", "java.security.KeyFactory",
            "javax.net.ssl.SSLContext", "java.math.BigDecimal", "java.util.regex.Pattern",
        };
        for (String name : names) {
            try {
                Class.forName(name);
            } catch (ClassNotFoundException | LinkageError absent) {
                // A runtime without that module.
            }
        }
        java.util.stream.IntStream.range(0, 1000).boxed()
                .collect(java.util.stream.Collectors.groupingBy(number -> number % 7));
        java.time.ZonedDateTime.now().format(java.time.format.DateTimeFormatter.ISO_DATE_TIME);
        String.format("%,.2f %s", 1.5, java.util.Locale.getDefault());
        for (int number = 0; number < 600; number++) {
            Class<?>[] one = {Runnable.class};
            // A class of its own for each loader.
            java.lang.reflect.Proxy.newProxyInstance(
                    new ClassLoader(Target.class.getClassLoader()) {}, one,
                    (proxy, method, values) -> null);
        }
    }
}
