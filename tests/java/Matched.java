import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * Classes that patterns choose by their annotations, supertypes and loaders. {@code LOADER CLASS
 * NUMBER} has an object of a class calculate, {@code LOADER CLASS} only loads it; a loader but
 * {@code app} has classes of its own, which are loaded when they are named first. {@code storm N}
 * has two threads load and use all of them in N new loaders each.
 */
public class Matched {
  @Retention(RetentionPolicy.RUNTIME)
  @interface Mapped {
    String[] paths() default {};

    Nested nested() default @Nested;
  }

  @interface Nested {
    Class<?>[] types() default {int.class};
  }

  /** In class files only; a VM forgets it. */
  @interface Written {}

  static class Pages implements IntUnaryOperator {
    @Override
    @Mapped(
        paths = {"/", "/index"},
        nested = @Nested(types = {String.class}))
    public int applyAsInt(int n) {
      return plain(n) + written(n);
    }

    int plain(int n) {
      return n;
    }

    @Written
    @Deprecated
    int written(int n) {
      return n;
    }
  }

  /** The same, for what is loaded later. */
  static class LatePages extends Pages {
    @Override
    @Mapped
    public int applyAsInt(int n) {
      return written(n) + 1;
    }

    @Override
    @Written
    int written(int n) {
      return n;
    }
  }

  @Mapped
  static class AllPages implements IntUnaryOperator {
    @Override
    public int applyAsInt(int n) {
      return plain(n);
    }

    int plain(int n) {
      return n;
    }
  }

  interface Served extends IntUnaryOperator {}

  interface Wide extends Served {}

  static class Base implements Served {
    @Override
    public int applyAsInt(int n) {
      return n;
    }
  }

  static class Middle extends Base {
    @Override
    public int applyAsInt(int n) {
      return n + 1;
    }
  }

  static class Leaf extends Middle {
    static final int STARTED = begin(1);

    static int begin(int n) {
      return n;
    }

    @Override
    public int applyAsInt(int n) {
      return n + 2;
    }
  }

  static class OtherLeaf extends Middle {
    @Override
    public int applyAsInt(int n) {
      return n + 3;
    }
  }

  static class Far implements Wide {
    @Override
    public int applyAsInt(int n) {
      return n + 4;
    }
  }

  static class Solo implements IntUnaryOperator {
    @Override
    public int applyAsInt(int n) {
      return n;
    }
  }

  static class Unrelated implements IntUnaryOperator {
    @Override
    public int applyAsInt(int n) {
      return n + 5;
    }
  }

  /** Loads these classes itself. */
  static class Shelf extends ClassLoader {
    Shelf(String name) {
      super(name, Matched.class.getClassLoader());
    }

    byte[] changed(byte[] bytes) {
      return bytes;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        Class<?> found = findLoadedClass(name);
        if (found != null || !name.startsWith("Matched$")) {
          return found != null ? found : super.loadClass(name, resolve);
        }
        try (InputStream in = getResourceAsStream(name + ".class")) {
          byte[] bytes = changed(in.readAllBytes());
          return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException unreadable) {
          throw new ClassNotFoundException(name, unreadable);
        }
      }
    }
  }

  /** Its classes have {@link Solo} above them where others have {@link Base}. */
  static class Twisted extends Shelf {
    Twisted() {
      super("twisted");
    }

    @Override
    byte[] changed(byte[] bytes) {
      String text = new String(bytes, StandardCharsets.ISO_8859_1);
      return text.replace("Matched$Base", "Matched$Solo").getBytes(StandardCharsets.ISO_8859_1);
    }
  }

  static class OtherShelf extends Shelf {
    OtherShelf(String name) {
      super(name);
    }
  }

  static final Map<String, ClassLoader> LOADERS = new HashMap<>();

  static ClassLoader loader(String name) {
    return LOADERS.computeIfAbsent(
        name,
        one -> {
          switch (one) {
            case "app":
              return Matched.class.getClassLoader();
            case "twisted":
              return new Twisted();
            case "nameless":
              return new Shelf(null);
            case "other":
              return new OtherShelf("other");
            default:
              return new Shelf(one);
          }
        });
  }

  static IntUnaryOperator made(Class<?> type) throws Exception {
    Constructor<?> constructor = type.getDeclaredConstructor();
    constructor.setAccessible(true);
    return (IntUnaryOperator) constructor.newInstance();
  }

  static int storm(int loaders) throws Exception {
    Thread[] threads = new Thread[2];
    int[] sums = new int[threads.length];
    for (int i = 0; i < threads.length; i++) {
      int own = i;
      threads[i] =
          new Thread(
              () -> {
                for (int n = 0; n < loaders; n++) {
                  Shelf shelf = new Shelf("storm");
                  for (String name : new String[] {"Leaf", "OtherLeaf", "Far", "Unrelated"}) {
                    try {
                      sums[own] += made(shelf.loadClass("Matched$" + name)).applyAsInt(1);
                    } catch (Exception failed) {
                      throw new IllegalStateException(failed);
                    }
                  }
                }
              });
      threads[i].start();
    }
    int sum = 0;
    for (int i = 0; i < threads.length; i++) {
      threads[i].join();
      sum += sums[i];
    }
    return sum;
  }

  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = lines.readLine()) != null; ) {
      String[] words = line.split(" ");
      if (words[0].equals("storm")) {
        System.out.println(storm(Integer.parseInt(words[1])));
        continue;
      }
      Class<?> type = Class.forName("Matched$" + words[1], false, loader(words[0]));
      String answer = "loaded";
      if (words.length > 2) {
        answer = "" + made(type).applyAsInt(Integer.parseInt(words[2]));
      }
      System.out.println(answer);
    }
  }
}
