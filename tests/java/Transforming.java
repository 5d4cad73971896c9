import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.concurrent.CountDownLatch;

/**
 * Has a class to redefine, and as a Java agent of its own replaces it whenever somebody else
 * retransforms it.
 *
 * <p>{@code version} says what the class does now; {@code use FILE} is the class file to replace it
 * with at the next retransformation, {@code use} alone none.
 */
public class Transforming {
    static volatile byte[] replacement;

    static class Changing {
        static int count = 1;
        int depth = 2;

        String version() {
            return "one";
        }

        int spare(int value) {
            return value + depth;
        }

        static void linger() throws InterruptedException {
            System.setProperty("lingering", "one");
            new CountDownLatch(1).await();
        }
    }

    static class Unrelated {}

    /** Not loaded before a variant of its superclass names it. */
    static class Subclass extends Changing {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> type, ProtectionDomain domain,
                    byte[] bytes) {
                return type != null && "Transforming$Changing".equals(name) ? replacement : null;
            }
        }, true);
    }

    public static void main(String[] arguments) throws Exception {
        Changing changing = new Changing();
        new Unrelated();
        Thread lingering = new Thread(() -> {
            try {
                Changing.linger();
            } catch (InterruptedException ended) {
                // Nobody does that.
            }
        }, "lingering");
        lingering.setDaemon(true);
        lingering.start();
        while (lingering.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("version")) {
                System.out.println(changing.version());
            } else if (words[0].equals("use")) {
                replacement = words.length > 1 ? Files.readAllBytes(Paths.get(words[1])) : null;
                System.out.println("ok");
            } else {
                System.out.println("error no command " + words[0]);
            }
        }
        System.exit(0);
    }
}
