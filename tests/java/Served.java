import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.RuntimeMXBean;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A server without a network: the thread {@code http-1} serves a {@link Request} for ever, {@code
 * http-2} and {@code http-3} count, {@code holder} holds two monitors in different frames, {@code
 * blocked} wants one of them, and where there are such, the virtual threads {@code unmounted} (it
 * waits) and {@code pinned} (it waits inside a class initialiser) are there.
 *
 * <p>One command a line, one line of answer, most of them from java.lang.management.
 */
public class Served {
    static volatile boolean spinning;
    static volatile boolean leaving;
    static volatile Object sink;
    static final Object outer = new Outer();
    static final Object inner = new Inner();
    static final Map<String, Thread> threads = new ConcurrentHashMap<>();
    static final Map<String, String> ended = new ConcurrentHashMap<>();

    static class Outer {}

    static class Inner {}

    static class Request {
        final Map<String, String> headers = new TreeMap<>(Map.of("Host", "example.org"));
        final int number;

        Request(int number) {
            this.number = number;
        }

        public String get(String name) {
            return headers.get(name);
        }
    }

    static class Server {
        final Request request = new Request(7);
        volatile int rounds;
        volatile String last = "nothing";

        void serve(Request request, long size, double share, char letter) throws Exception {
            boolean open = true;
            String path = "/index.html";
            byte[] body = {1, 2, 3};
            while (!leaving) {
                int round = rounds + 1;
                rounds = round;
                if (spinning) {
                    int[] tick = new int[0];  // the interpreter-only VM stops where it allocates
                    continue;
                }
                last = path + " " + request.number + " " + size + " " + share + " " + letter + " "
                        + open + " " + body.length;
                Thread.sleep(1);
            }
            String after = "left";
            sink = after + path;
        }
    }

    static class Counter {
        volatile long count;

        void run() throws Exception {
            while (!leaving) {
                count++;
                Thread.sleep(1);
            }
        }
    }

    static class Slow {
        static {
            LockSupport.park();
        }

        static void touch() {}
    }

    interface Task {
        void run() throws Exception;
    }

    static final Server server = new Server();
    static final Map<String, Counter> counters = new ConcurrentHashMap<>();

    static void start(String name, Task task) {
        ThreadGroup group = new ThreadGroup("of " + name);
        Thread thread = new Thread(group, runnable(name, task), name);
        thread.setDaemon(true);
        threads.put(name, thread);
        thread.start();
    }

    static Runnable runnable(String name, Task task) {
        return () -> {
            try {
                task.run();
                ended.put(name, "returned");
            } catch (Throwable thrown) {
                ended.put(name, thrown.getClass().getName() + " " + thrown.getMessage());
            }
        };
    }

    static void virtual(String name, Task task) throws Exception {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, name);
            threads.put(name, (Thread) type.getMethod("start", Runnable.class)
                    .invoke(builder, runnable(name, task)));
            settle(name, Thread.State.WAITING);
        } catch (NoSuchMethodException absent) {
            // Before Java 21.
        }
    }

    static void settle(String name, Thread.State state) throws Exception {
        while (threads.get(name).getState() != state) {
            Thread.sleep(1);
        }
    }

    static void holdOuter() throws Exception {
        synchronized (outer) {
            holdInner();
        }
    }

    static void holdInner() throws Exception {
        synchronized (inner) {
            while (true) {
                LockSupport.park();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        start("http-1", () -> server.serve(server.request, 1L << 40, 0.5, 'Ж'));
        for (String name : new String[] {"http-2", "http-3"}) {
            Counter counter = new Counter();
            counters.put(name, counter);
            start(name, counter::run);
        }
        start("holder", Served::holdOuter);
        settle("holder", Thread.State.WAITING);
        start("blocked", () -> {
            synchronized (outer) {
                sink = "never";
            }
        });
        settle("blocked", Thread.State.BLOCKED);
        virtual("unmounted", () -> {
            while (true) {
                LockSupport.park();
            }
        });
        virtual("pinned", Slow::touch);
        while (server.last.equals("nothing")) {
            Thread.sleep(1);
        }
        System.out.println("ready");

        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.trim().split(" +"));
            } catch (Throwable problem) {
                answer = "error " + problem;
            }
            System.out.println(answer);
        }
        leaving = true;
        System.exit(0);
    }

    static String answer(String[] words) throws Exception {
        String name = words.length > 1 ? words[1] : "";
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        switch (words[0]) {
            case "arguments":
                return String.join("\t", runtime.getInputArguments());
            case "uptime":
                return String.valueOf(runtime.getUptime());
            case "vm":
                return runtime.getVmName();
            case "version":
                return System.getProperty("java.version");
            case "flag":
                VMOption option = ManagementFactory
                        .getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption(name);
                return option.getValue() + " " + option.isWriteable() + " " + option.getOrigin();
            case "spin":
                spinning = name.equals("on");
                return "ok";
            case "last":
                return server.last;
            case "header":
                return server.request.get(name);
            case "rounds":
                return String.valueOf(server.rounds);
            case "count":
                return String.valueOf(counters.get(name).count);
            case "start":
                Counter counter = new Counter();
                counters.put(name, counter);
                start(name, counter::run);
                return "ok";
            case "ended":
                threads.get(name).join(20_000);
                return ended.getOrDefault(name, "runs");
            case "state":
                return threads.get(name).getState().name();
            case "group":
                return threads.get(name).getThreadGroup().getName();
            case "interrupted":
                return String.valueOf(threads.get(name).isInterrupted());
            case "monitors":
                ThreadMXBean bean = ManagementFactory.getThreadMXBean();
                ThreadInfo info = bean.getThreadInfo(
                        new long[] {threads.get(name).getId()}, true, true)[0];
                StringBuilder text = new StringBuilder();
                for (MonitorInfo monitor : info.getLockedMonitors()) {
                    text.append(monitor.getLockedStackFrame().getMethodName()).append('=')
                            .append(monitor.getClassName()).append(' ');
                }
                return text.toString().trim();
            case "frames":
                StringBuilder frames = new StringBuilder();
                for (StackTraceElement one : threads.get(name).getStackTrace()) {
                    frames.append(one.getClassName()).append('.').append(one.getMethodName())
                            .append(':').append(one.getLineNumber()).append(' ');
                }
                return frames.toString().trim();
            case "platform":
                return String.valueOf(ManagementFactory.getThreadMXBean().getThreadCount());
            default:
                return "error no command " + words[0];
        }
    }
}
