import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;

/**
 * Does countable work and says what it has done: calls, contention, allocation, processor time.
 *
 * <p>Each argument names a kind of work. At the end a line for each fact is printed.
 */
public class Workload {
    static final List<Object> KEPT = new ArrayList<>();

    /** Methods that know how often they were called. */
    public static class Counted {
        int even;
        int odd;
        int failed;

        int call(int number) {
            if (number % 2 == 0) {
                return ++even;
            }
            return later(number);
        }

        private int later(int number) {
            ++odd;
            switch (number % 4) {
                case 1:
                    return number;
                default:
                    String text = "";
                    for (int i = 0; i < 3; ++i) {
                        text += new StringBuilder().append(i > 1 ? number : i);
                    }
                    return text.length();
            }
        }

        long fail(long number) {
            try {
                ++failed;
                throw new IllegalStateException("on purpose " + number);
            } finally {
                KEPT.size();
            }
        }
    }

    /** What is allocated and partly kept. */
    public static class Item {
        long one;
        long two;
    }

    /** What threads contend for. */
    public static class Shared {
    }

    static void calls() {
        Counted counted = new Counted();
        for (int i = 0; i < 300; ++i) {
            counted.call(i);
        }
        for (int i = 0; i < 7; ++i) {
            try {
                counted.fail(i);
            } catch (IllegalStateException expected) {
                // it always fails
            }
        }
        System.out.println("call " + (counted.even + counted.odd));
        System.out.println("later " + counted.odd);
        System.out.println("fail " + counted.failed);
    }

    static Item make() {
        return new Item();
    }

    static void items() {
        for (int i = 0; i < 500; ++i) {
            Item item = make();
            if (i % 5 == 0) {
                KEPT.add(item);
            }
        }
        System.out.println("items 500");
        System.out.println("kept " + KEPT.size());
    }

    static void skips() {
        java.util.Map<Integer, Integer> map = new java.util.concurrent.ConcurrentSkipListMap<>();
        for (int i = 0; i < 200; ++i) {
            map.put(i * 7919 % 200, i);
        }
        System.out.println("puts " + map.size());
    }

    static void contention() throws Exception {
        Shared shared = new Shared();
        Thread worker = new Thread(() -> {
            for (int i = 0; i < 4; ++i) {
                synchronized (shared) {
                    shared.notifyAll();
                    try {
                        shared.wait(20);
                    } catch (InterruptedException impossible) {
                        return;
                    }
                }
            }
            // Stay, so that there is something to ask about; an end is a monitor's work too.
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException impossible) {
                return;
            }
        }, "worker");
        worker.setDaemon(true);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        synchronized (shared) {
            worker.start();
            while (worker.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
        }
        while (worker.getState() != Thread.State.TIMED_WAITING || waits(threads, worker) < 5) {
            Thread.sleep(1);
        }
        ThreadInfo info = threads.getThreadInfo(worker.getId());
        System.out.println("blocked " + info.getBlockedCount());
        // The last one is the sleep.
        System.out.println("waited " + (info.getWaitedCount() - 1));
    }

    private static long waits(ThreadMXBean threads, Thread thread) {
        return threads.getThreadInfo(thread.getId()).getWaitedCount();
    }

    static int spin(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; ++i) {
            sum = sum * 31 + twist(i);
        }
        return sum;
    }

    static int twist(int number) {
        return number ^ number >>> 3;
    }

    static void hot() {
        long end = System.nanoTime() + 1_500_000_000L;
        int sum = 0;
        // Of the seconds of a busy machine it may get next to nothing: so many rounds are work, too.
        for (int round = 0; round < 1_000 || System.nanoTime() < end; ++round) {
            sum += spin(20_000);
        }
        System.out.println("spun " + (sum == 42 ? "well" : "enough"));
    }

    static void collections() {
        for (int i = 0; i < 3; ++i) {
            System.gc();
        }
        long count = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(bean -> Math.max(bean.getCollectionCount(), 0)).sum();
        System.out.println("collections " + count);
    }

    public static void main(String[] work) throws Exception {
        for (String one : work) {
            switch (one) {
                case "calls":
                    calls();
                    break;
                case "items":
                    items();
                    break;
                case "skips":
                    skips();
                    break;
                case "contention":
                    contention();
                    break;
                case "hot":
                    hot();
                    break;
                default:
                    collections();
            }
        }
    }
}
