import java.io.IOException;
import java.util.Arrays;

/** Does a little of everything that probes can be put at; {@link Hook} prints what probes hand to it. */
public class Probed {
  static int count;
  long total;
  private final String name;
  private final Object lock = new Object();

  Probed(String name, boolean loud) {
    this.name = loud ? name.toUpperCase() : new StringBuilder(name).reverse().toString();
  }

  long add(int n, long factor, double share) {
    n = n * 2; // what was passed is gone
    total += n * factor;
    return total;
  }

  int[] squares(int most) {
    int[] made = new int[most];
    for (int i = 0; i < most; i++) {
      made[i] = i * i;
    }
    return made;
  }

  String guarded(Object key) throws IOException {
    synchronized (lock) {
      if (key == null) {
        throw new IOException("no key");
      }
      return name + key;
    }
  }

  static String described(int kind) {
    switch (kind) {
      case 1:
        return "one";
      case 7:
        return "seven";
      default:
        return "many";
    }
  }

  static int depth(int n) {
    return n == 0 ? 0 : 1 + depth(n - 1);
  }

  static void nothing() {
    count++;
  }

  public static void main(String[] args) throws Exception {
    Probed probed = new Probed("ada", args.length > 5);
    System.out.println("added " + probed.add(2, 10L, 0.5) + " " + probed.add(1, 1L, 0.25));
    System.out.println(Arrays.toString(probed.squares(4)));
    for (Object key : new Object[] {"!", null}) {
      try {
        System.out.println(probed.guarded(key));
      } catch (IOException failed) {
        int line = failed.getStackTrace()[0].getLineNumber();
        System.out.println("failed: " + failed.getMessage() + " in line " + line);
      }
    }
    System.out.println(described(1) + described(7) + described(3) + depth(3));
    nothing();
    System.out.println("count " + count);
  }

  /** What probes call. */
  public static class Hook {
    static long next = 100;

    public static void say(String what) {
      System.out.println("> " + what);
    }

    public static void say(String what, Object one) {
      System.out.println("> " + what + " " + text(one));
    }

    public static void say(String what, Object one, Object two) {
      System.out.println("> " + what + " " + text(one) + " " + text(two));
    }

    public static void say(String what, Object one, Object[] all) {
      System.out.println("> " + what + " " + text(one) + " " + text(all));
    }

    public static void say(String what, Throwable thrown) {
      System.out.println("> " + what + " " + thrown);
    }

    public static void say(String what, int number) {
      System.out.println("> " + what + " " + number);
    }

    public static void say(String what, long number) {
      System.out.println("> " + what + " " + number);
    }

    public static void say(String what, double number) {
      System.out.println("> " + what + " " + number);
    }

    public static long now(String what) {
      System.out.println("> " + what + " keeps " + next);
      return next++;
    }

    public static Object instead(Object value) {
      return value + "?";
    }

    public static long instead(long value) {
      return -value;
    }

    private static String text(Object one) {
      if (one instanceof Probed) {
        return "a Probed";
      }
      if (one instanceof Object[]) {
        StringBuilder all = new StringBuilder("[");
        for (Object each : (Object[]) one) {
          all.append(all.length() > 1 ? ", " : "").append(text(each));
        }
        return all + "]";
      }
      return one instanceof int[] ? Arrays.toString((int[]) one) : String.valueOf(one);
    }
  }
}
