import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.net.URL;
import java.util.Collections;
import java.util.jar.Manifest;

/** Gives an agent that is made for the start of a JVM to one that runs; the manifest names it. */
public final class Lately {
  public static void agentmain(String options, Instrumentation given) throws Exception {
    for (URL one : Collections.list(ClassLoader.getSystemResources("META-INF/MANIFEST.MF"))) {
      try (InputStream in = one.openStream()) {
        String name = new Manifest(in).getMainAttributes().getValue("Forwarded");
        if (name != null) {
          Class.forName(name)
              .getMethod("premain", String.class, Instrumentation.class)
              .invoke(null, options, given);
        }
      }
    }
  }
}
