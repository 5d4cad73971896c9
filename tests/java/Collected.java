import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Makes work for the VM's own threads: {@code collect N} has the heap collected N times, and {@code
 * compile} runs code that nobody has run yet until it is compiled.
 */
public class Collected {
  static final List<Object> KEPT = new ArrayList<>();
  static volatile Object made;

  static void compile() {
    for (int i = 0; i < 20_000; i++) {
      String text = IntStream.range(i, i + 8).mapToObj(Integer::toString).reduce("", String::concat);
      made = Pattern.compile("([0-9]+)x?" + i % 7).matcher(text).find();
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < 100_000; i++) {
      KEPT.add(new Object[] {i + 1000, KEPT.isEmpty() ? null : KEPT.get(KEPT.size() - 1)});
    }
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("compile")) {
        compile();
      } else {
        for (int i = 0; i < Integer.parseInt(words[1]); i++) {
          System.gc();
        }
      }
      System.out.println("done");
    }
  }
}
