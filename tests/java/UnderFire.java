import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls, throws, loads and drops classes, locks, and has two threads in a deadlock, while others change its
 * code. It checks every result itself. Commands: {@code check} answers how often it went round and how
 * many results were wrong; {@code call N} calls {@link #add} N times on the main thread; {@code full N}
 * calls N times while there is no memory; {@code exit} ends with calls in a shutdown hook.
 *
 * <p>With the argument {@code virtual}, virtual threads do the work.
 */
public class UnderFire {
  static class Failure extends RuntimeException {
    Failure(String message) {
      super(message);
    }
  }

  /** Defined anew again and again, in loaders that are dropped. */
  public static class Fresh {
    public static long twice(long number) {
      return number * 2;
    }
  }

  static class Own extends ClassLoader {
    final byte[] bytes;

    Own(byte[] bytes) {
      super(null);
      this.bytes = bytes;
    }

    @Override
    protected Class<?> findClass(String name) {
      return defineClass(name, bytes, 0, bytes.length);
    }
  }

  static final AtomicLong rounds = new AtomicLong();
  static final AtomicLong wrong = new AtomicLong();
  static volatile boolean ending;
  static boolean virtual;

  static long add(long first, Object second) {
    return first + second.hashCode();
  }

  /** The hottest method, with as many places as twenty breakpoints need. */
  static long mixed(long number) {
    long sum = number;
    sum ^= sum << 3;
    sum += 5;
    sum ^= sum >>> 2;
    sum *= 7;
    sum ^= sum << 1;
    sum -= 11;
    sum ^= sum >>> 4;
    sum *= 3;
    sum ^= sum << 2;
    sum += 13;
    sum ^= sum >>> 1;
    sum *= 5;
    sum ^= sum << 4;
    sum -= 17;
    sum ^= sum >>> 3;
    sum *= 9;
    sum ^= sum << 2;
    sum += 19;
    return sum ^ number;
  }

  /** The same without the places. */
  static long mixedAtOnce(long number) {
    long sum = ((number ^ number << 3) + 5);
    sum = (sum ^ sum >>> 2) * 7;
    sum = (sum ^ sum << 1) - 11;
    sum = (sum ^ sum >>> 4) * 3;
    sum = (sum ^ sum << 2) + 13;
    sum = (sum ^ sum >>> 1) * 5;
    sum = (sum ^ sum << 4) - 17;
    sum = (sum ^ sum >>> 3) * 9;
    return ((sum ^ sum << 2) + 19) ^ number;
  }

  static int fail(int depth, String text) {
    if (depth == 0) {
      throw new Failure(text);
    }
    return fail(depth - 1, text) + 1;
  }

  static synchronized long locked(long number) {
    return number + 1;
  }

  static long fresh(long number) throws ReflectiveOperationException {
    Class<?> made = new Own(bytes).loadClass("UnderFire$Fresh");
    return (long) made.getMethod("twice", long.class).invoke(null, number);
  }

  static long held(Object first, Object second, CountDownLatch both) throws InterruptedException {
    synchronized (first) {
      both.countDown();
      both.await();
      synchronized (second) {
        return 1;
      }
    }
  }

  private static byte[] bytes;

  private static void expect(long found, long wanted) {
    if (found != wanted) {
      wrong.incrementAndGet();
    }
  }

  private static void round(int number) throws Exception {
    expect(add(number, number), 2L * number);
    expect(locked(number), number + 1L);
    for (int i = 0; i < 100; i++) {
      expect(mixed(number + i), mixedAtOnce(number + i));
    }
    try {
      fail(5, "text " + number);
      wrong.incrementAndGet();
    } catch (Failure failure) {
      expect(failure.getMessage().equals("text " + number) ? 1 : 0, 1);
    }
    if (number % 16 == 0) {
      expect(fresh(number), 2L * number);
    }
    rounds.incrementAndGet();
  }

  private static void start(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void work() {
    long collected = System.nanoTime();
    for (int number = 0; ; number++) {
      try {
        round(number & 0xFFFF);
        if (number % 16 == 0) {
          Thread.sleep(1);
        }
        if (System.nanoTime() - collected > 300_000_000) {
          // Else G1 keeps thousands of the dropped classes, and each change of classes takes seconds.
          System.gc();
          collected = System.nanoTime();
        }
      } catch (OutOfMemoryError none) {
        // `full` takes it all.
      } catch (Exception unexpected) {
        unexpected.printStackTrace();
        wrong.incrementAndGet();
      }
    }
  }

  private static long full(int calls) {
    List<byte[]> taken = new ArrayList<>(1 << 16);
    long right = 0;
    for (int size = 1 << 20; size > 8; size /= 2) {
      try {
        while (taken.size() < 1 << 16) {
          taken.add(new byte[size]);
        }
      } catch (OutOfMemoryError none) {
        // A smaller one.
      }
    }
    for (int i = 0; i < calls; i++) {
      try {
        right += add(i, "") == i ? 1 : 0;
      } catch (OutOfMemoryError none) {
        // A probe must not need memory of the heap.
      }
    }
    taken.clear();
    return right;
  }

  public static void main(String[] args) throws Exception {
    try (InputStream in = UnderFire.class.getResourceAsStream("UnderFire$Fresh.class")) {
      bytes = in.readAllBytes();
    } catch (IOException missing) {
      throw new IllegalStateException(missing);
    }
    virtual = args.length > 0;
    Object one = new Object();
    Object other = new Object();
    CountDownLatch both = new CountDownLatch(2);
    for (Object[] pair : new Object[][] {{one, other}, {other, one}}) {
      start(
          "deadlocked",
          () -> {
            try {
              held(pair[0], pair[1], both);
            } catch (InterruptedException unexpected) {
              wrong.incrementAndGet();
            }
          });
    }
    both.await();
    for (int i = 0; i < 2; i++) {
      if (virtual) {
        Runnable work = UnderFire::work;
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
      } else {
        start("worker " + i, UnderFire::work);
      }
    }
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  long sum = 0;
                  for (int i = 0; i < 20_000; i++) {
                    sum += add(i, "");
                  }
                  System.out.println("hook " + sum + " wrong " + wrong.get());
                }));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = lines.readLine()) != null; ) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "check":
          System.out.println(rounds.get() + " " + wrong.get());
          break;
        case "call":
          long sum = 0;
          for (int i = 0; i < Integer.parseInt(words[1]); i++) {
            sum += add(i, i);
          }
          System.out.println(sum);
          break;
        case "full":
          System.out.println(full(Integer.parseInt(words[1])));
          break;
        default:
          System.exit(0);
      }
    }
  }
}
