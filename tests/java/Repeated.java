import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;

/**
 * Does the same with a program of others for each line of input, and prints what came of it.
 *
 * <p>Arguments: "ecj" and those of the Eclipse compiler, or "h2", the URL of a database in memory and
 * how many threads ask it at once. Each line is "run N"; the number goes into names, so that no run
 * meets another's.
 */
public class Repeated {
  public static void main(String[] arguments) throws Exception {
    String[] more = Arrays.copyOfRange(arguments, 1, arguments.length);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int number = Integer.parseInt(line.split(" ")[1]);
      String said = arguments[0].equals("ecj") ? compiled(more) : loaded(more, number);
      System.out.println("done " + said.length() + " " + said.hashCode());
    }
  }

  static String compiled(String[] arguments) throws Exception {
    Class<?> type = Class.forName("org.eclipse.jdt.internal.compiler.batch.Main");
    StringWriter said = new StringWriter();
    PrintWriter to = new PrintWriter(said);
    Object compiler =
        type.getConstructor(PrintWriter.class, PrintWriter.class, boolean.class)
            .newInstance(to, to, false);
    Method compile = type.getMethod("compile", String[].class);
    return compile.invoke(compiler, (Object) arguments).toString() + said;
  }

  /** Each run has a database of its own, which goes with its last connection. */
  static String queried(String url, int number, int table) throws Exception {
    Method work =
        Class.forName("Querying")
            .getDeclaredMethod("work", String.class, int.class, int.class);
    work.setAccessible(true);
    return (String) work.invoke(null, url + number, table, 2);
  }

  /** The threads {@code load 0}, {@code load 1} … ask one database; alone, the main thread does. */
  static String loaded(String[] arguments, int number) throws Exception {
    int threads = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1;
    if (threads == 1) {
      return queried(arguments[0], number, 0);
    }
    List<FutureTask<String>> tasks = new ArrayList<>();
    try (Connection first = DriverManager.getConnection(arguments[0] + number)) {
      for (int i = 0; i < threads; i++) {
        int table = i;
        FutureTask<String> task = new FutureTask<>(() -> queried(arguments[0], number, table));
        tasks.add(task);
        new Thread(task, "load " + i).start();
      }
      StringBuilder said = new StringBuilder();
      for (FutureTask<String> task : tasks) {
        said.append(task.get());
      }
      return said.toString();
    }
  }
}
