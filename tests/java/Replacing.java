import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.ProtectionDomain;

/**
 * A Java agent of somebody else: it replaces text in the constants of a class.
 *
 * <p>Options: {@code add CLASS FROM TO} with texts of one length, {@code once} for a transformer that
 * does not see retransformations, {@code retransform CLASS}, {@code remove}, {@code write CLASS FILE}:
 * retransform the class and write down the class file that it is shown.
 */
public final class Replacing implements ClassFileTransformer {
  private static Instrumentation instrumentation;
  private static Replacing last;

  private final String name;
  private final byte[] from;
  private final byte[] to;

  private Replacing(String name, String from, String to) {
    this.name = name;
    this.from = from.getBytes(StandardCharsets.UTF_8);
    this.to = to.getBytes(StandardCharsets.UTF_8);
  }

  public static void premain(String options, Instrumentation given) throws Exception {
    // Each attach brings another instance, which does not know the transformers of the first.
    instrumentation = instrumentation == null ? given : instrumentation;
    String[] words = options.split(",");
    switch (words[0]) {
      case "add":
      case "once":
        last = new Replacing(words[1], words[2], words[3]);
        instrumentation.addTransformer(last, words[0].equals("add"));
        break;
      case "retransform":
        instrumentation.retransformClasses(loaded(words[1]));
        break;
      case "remove":
        instrumentation.removeTransformer(last);
        break;
      case "write":
        write(given, words[1], words[2]);
        break;
      default:
        throw new IllegalArgumentException(options);
    }
  }

  public static void agentmain(String options, Instrumentation given) throws Exception {
    premain(options, given);
  }

  /** With the newest environment, whose hook comes behind all others. */
  private static void write(Instrumentation newest, String name, String to) throws Exception {
    byte[][] shown = new byte[1][];
    ClassFileTransformer witness =
        new ClassFileTransformer() {
          @Override
          public byte[] transform(
              ClassLoader loader, String internal, Class<?> of, ProtectionDomain domain, byte[] file) {
            shown[0] = name.replace('.', '/').equals(internal) ? file.clone() : shown[0];
            return null;
          }
        };
    newest.addTransformer(witness, true);
    newest.retransformClasses(loaded(name));
    newest.removeTransformer(witness);
    Files.write(Paths.get(to), shown[0]);
  }

  private static Class<?> loaded(String name) {
    for (Class<?> one : instrumentation.getAllLoadedClasses()) {
      if (one.getName().equals(name)) {
        return one;
      }
    }
    throw new IllegalArgumentException(name);
  }

  @Override
  public byte[] transform(
      ClassLoader loader, String internal, Class<?> redefined, ProtectionDomain domain, byte[] file) {
    if (!name.replace('.', '/').equals(internal)) {
      return null;
    }
    byte[] changed = file.clone();
    for (int i = 0; i + from.length <= changed.length; i++) {
      int same = 0;
      while (same < from.length && changed[i + same] == from[same]) {
        same++;
      }
      if (same == from.length) {
        System.arraycopy(to, 0, changed, i, to.length);
      }
    }
    return changed;
  }
}
