import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * One thread computes, another one allocates a little and sleeps. At the end it says how many
 * milliseconds of processor time each of them has used.
 */
public class Portions {
    static volatile long sink;
    static Object kept;

    static void compute(long until) {
        long x = 1;
        while (System.nanoTime() < until) {
            for (int i = 0; i < 1000; i++) {
                x = x * 31 + i;
            }
        }
        sink = x;
    }

    static void allocate() {
        while (true) {
            for (int i = 0; i < 20; i++) {
                kept = new byte[16384];
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Thread other = new Thread(Portions::allocate, "allocates");
        other.setDaemon(true);
        long[] before = {threads.getCurrentThreadCpuTime(), 0};
        other.start();
        compute(System.nanoTime() + Integer.parseInt(arguments[0]) * 1_000_000L);
        long computed = threads.getCurrentThreadCpuTime() - before[0];
        System.out.println("computes " + computed / 1_000_000);
        System.out.println("allocates " + threads.getThreadCpuTime(other.getId()) / 1_000_000);
    }
}
