import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Threads that own monitors in every way that Java code can, or wait for one.
 *
 * <p>One command a line, one line of answer. {@code run NAME KIND} starts a thread that does what
 * the kind says and stays there; with {@code virtual NAME KIND} it is a virtual thread. {@code
 * owned NAME} and {@code contended NAME} tell of it as {@code java.lang.management} does, {@code
 * locked NAME} tells what a thread itself says it has locked, in the order of its calls. {@code end
 * NAME} lets it go on and waits for its end, {@code release} lets those go on that wait to enter.
 */
public class Owners {
    static final Map<String, Owner> owners = new ConcurrentHashMap<>();

    /** What is locked. */
    static class Thing {}

    /** What all threads of the kinds that wait want. */
    static final Thing contended = new Thing();

    static class Owner implements Runnable {
        final String kind;
        final Map<Integer, Object> locked = new TreeMap<>();
        volatile Thread thread;
        volatile boolean stays;
        volatile boolean released;
        Thing one = new Thing();
        Thing two = new Thing();

        Owner(String kind) {
            this.kind = kind;
        }

        @Override
        public void run() {
            try {
                perform();
            } catch (Exception interrupted) {
                // The end of it.
            }
        }

        void perform() throws Exception {
            switch (kind) {
                case "nothing": stay(); return;
                case "block": block(); return;
                case "method": method(); return;
                case "static": noted(Owner.class); locksItsClass(this); return;
                case "nested": noted(this); nested(); return;
                case "again": again(); return;
                case "compiled": compiled(); return;
                case "running": running(); return;
                case "array": array(); return;
                case "waits": waits(); return;
                case "waits-awhile": waitsAwhile(); return;
                case "blocks": blocks(); return;
                case "enters": Entered.entered.enter(this); return;
                case "enters-static": stays = true; Entered.locks(); return;
                default: throw new IllegalArgumentException("no kind " + kind);
            }
        }

        void noted(Object one) {
            locked.put(locked.size(), one);
        }

        void stay() {
            stays = true;
            while (!released) {
                LockSupport.park(this);
            }
        }

        void block() {
            synchronized (one) {
                noted(one);
                stay();
            }
        }

        synchronized void method() {
            noted(this);
            stay();
        }

        static synchronized void locksItsClass(Owner owner) {
            owner.stay();
        }

        synchronized void nested() {
            synchronized (one) {
                noted(one);
                synchronized (two) {
                    noted(two);
                    inner();
                }
            }
        }

        void inner() {
            synchronized (Owners.class) {
                noted(Owners.class);
                stay();
            }
        }

        /** Locks one monitor in two frames, and twice in one. */
        void again() {
            synchronized (one) {
                noted(one);
                synchronized (one) {
                    oneMore();
                }
            }
        }

        void oneMore() {
            synchronized (one) {
                stay();
            }
        }

        void array() {
            int[] numbers = new int[3];
            synchronized (numbers) {
                noted(numbers);
                stay();
            }
        }

        /** Code that was compiled before it came here, and does not need its objects any more. */
        void compiled() {
            Hot hot = new Hot(this);
            for (int i = 0; i < 200_000; i++) {
                hot.turn(false);
            }
            noted(hot);
            hot.turn(true);
        }

        void running() {
            synchronized (one) {
                noted(one);
                stays = true;
                while (!released) {
                    int[] tick = new int[0];
                }
            }
        }

        void waits() throws InterruptedException {
            synchronized (two) {
                noted(two);
                synchronized (one) {
                    stays = true;
                    one.wait();
                }
            }
        }

        void waitsAwhile() throws InterruptedException {
            synchronized (one) {
                stays = true;
                one.wait(Long.MAX_VALUE);
            }
        }

        void blocks() {
            synchronized (one) {
                noted(one);
                stays = true;
                synchronized (contended) {
                    return;
                }
            }
        }
    }

    /** Synchronized methods that a thread waits to enter. */
    static class Entered {
        static final Entered entered = new Entered();

        void enter(Owner owner) {
            owner.stays = true;
            lock();
        }

        synchronized void lock() {}

        static synchronized void locks() {}
    }

    static class Hot {
        final Owner owner;
        int turns;

        Hot(Owner owner) {
            this.owner = owner;
        }

        synchronized void turn(boolean stay) {
            turns++;
            if (stay) {
                stayIn(owner);
            }
        }

        static void stayIn(Owner owner) {
            owner.stay();
        }
    }

    static String start(String name, String kind, boolean virtual) throws Exception {
        Owner owner = new Owner(kind);
        owners.put(name, owner);
        if (virtual) {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, name);
            owner.thread = (Thread) type.getMethod("start", Runnable.class).invoke(builder, owner);
        } else {
            owner.thread = new Thread(owner, name);
            owner.thread.setDaemon(true);
            owner.thread.start();
        }
        latest = owner.thread;
        while (!owner.stays) {
            Thread.sleep(1);
        }
        Thread.State awaited =
                kind.equals("running") ? Thread.State.RUNNABLE
                : kind.equals("blocks") || kind.startsWith("enters") ? Thread.State.BLOCKED
                : kind.equals("waits-awhile") ? Thread.State.TIMED_WAITING
                : Thread.State.WAITING;
        while (owner.thread.getState() != awaited) {
            Thread.sleep(1);
        }
        return "stays";
    }

    /** The latest thread. */
    static volatile Thread latest;

    static String described(Object one) {
        return one.getClass().getName() + "@" + System.identityHashCode(one);
    }

    static String answer(String[] words) throws Exception {
        String name = words.length > 1 ? words[1] : "";
        Owner owner = owners.get(name);
        switch (words[0]) {
            case "run": return start(name, words[2], false);
            case "virtual": return start(name, words[2], true);
            case "owned": {
                ThreadInfo info = info(owner);
                return Arrays.stream(info.getLockedMonitors())
                        .map(one -> described(one) + ":" + one.getLockedStackDepth())
                        .collect(Collectors.joining(" "));
            }
            case "contended": {
                LockInfo lock = info(owner).getLockInfo();
                return lock == null ? "none" : described(lock);
            }
            case "locked":
                return owner.locked.values().stream().map(Owners::described)
                        .collect(Collectors.joining(" "));
            case "release":
                released = true;
                LockSupport.unpark(holder);
                holder.join();
                return "released";
            case "hold":
                startHolder();
                return "held";
            case "end":
                owner.released = true;
                LockSupport.unpark(owner.thread);
                if (!owner.kind.equals("running")) {
                    owner.thread.interrupt();
                }
                owner.thread.join();
                return "ended";
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    static String described(LockInfo one) {
        return one.getClassName() + "@" + one.getIdentityHashCode();
    }

    static ThreadInfo info(Owner owner) {
        return ManagementFactory.getThreadMXBean()
                .getThreadInfo(new long[] {owner.thread.getId()}, true, true)[0];
    }

    static volatile Thread holder;
    static volatile boolean released;

    /** Holds what others wait for. */
    static void holdContended() {
        synchronized (contended) {
            synchronized (Entered.class) {
                synchronized (Entered.entered) {
                    while (!released) {
                        LockSupport.park();
                    }
                }
            }
        }
    }

    static void startHolder() throws InterruptedException {
        released = false;
        holder = new Thread(Owners::holdContended, "holder");
        holder.setDaemon(true);
        holder.start();
        while (holder.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        startHolder();
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
        System.exit(0);
    }
}
