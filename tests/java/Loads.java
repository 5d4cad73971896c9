import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * Loads the classes of jars, or all of the JDK's modules, without initializing them. A line asks:
 * {@code jar PATH FILE}, where other jars may follow the first one behind colons, or {@code jdk FROM TO FILE}; the answer is how many were loaded. They stand in
 * {@link #loaded}, and the file has their names and class files in the same order.
 */
public class Loads {
  static Class<?>[] loaded;

  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = lines.readLine()) != null; ) {
      String[] words = line.split(" ");
      int count =
          words[0].equals("jar")
              ? jar(words[1], words[2])
              : jdk(Integer.parseInt(words[1]), Integer.parseInt(words[2]), words[3]);
      System.out.println("loaded " + count);
    }
  }

  private static int jar(String path, String file) throws Exception {
    String[] jars = path.split(":");
    URL[] urls = new URL[jars.length];
    for (int i = 0; i < jars.length; i++) {
      urls[i] = new File(jars[i]).toURI().toURL();
    }
    URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    List<Class<?>> found = new ArrayList<>();
    try (JarFile jar = new JarFile(jars[0]); DataOutputStream out = open(file)) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        String name = entry.getName();
        if (!name.endsWith(".class") || name.startsWith("META-INF/") || name.endsWith("-info.class")) {
          continue;
        }
        try (InputStream in = jar.getInputStream(entry)) {
          load(name, loader, in.readAllBytes(), found, out);
        }
      }
    }
    loaded = found.toArray(new Class<?>[0]);
    return loaded.length;
  }

  private static int jdk(int from, int to, String file) throws Exception {
    List<Path> paths = new ArrayList<>();
    Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
    try (Stream<Path> all = Files.walk(modules)) {
      all.filter(one -> one.toString().endsWith(".class") && !one.toString().endsWith("-info.class"))
          .sorted()
          .forEach(paths::add);
    }
    List<Class<?>> found = new ArrayList<>();
    try (DataOutputStream out = open(file)) {
      for (Path path : paths.subList(Math.min(from, paths.size()), Math.min(to, paths.size()))) {
        String name = path.subpath(2, path.getNameCount()).toString();
        load(name, ClassLoader.getSystemClassLoader(), Files.readAllBytes(path), found, out);
      }
    }
    loaded = found.toArray(new Class<?>[0]);
    return loaded.length;
  }

  private static void load(
      String path, ClassLoader loader, byte[] bytes, List<Class<?>> found, DataOutputStream out)
      throws Exception {
    String name = path.substring(0, path.length() - ".class".length()).replace('/', '.');
    try {
      Class<?> loaded = Class.forName(name, false, loader);
      if (loaded.getClassLoader() != loader && loader instanceof URLClassLoader) {
        return;
      }
      found.add(loaded);
      out.writeUTF(name);
      out.writeInt(bytes.length);
      out.write(bytes);
    } catch (LinkageError | ClassNotFoundException | RuntimeException cannotBe) {
      // A class that needs another jar, or is not for this release.
    }
  }

  private static DataOutputStream open(String file) throws Exception {
    return new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file)));
  }
}
