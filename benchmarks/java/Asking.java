import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** Asks a web server without an end, from two threads; the arguments are the addresses. */
public class Asking {
    static volatile long received;

    static void ask(String[] addresses) {
        try {
            for (int n = 0; ; n++) {
                URL address = new URL(addresses[n % addresses.length]);
                HttpURLConnection connection = (HttpURLConnection) address.openConnection();
                try (InputStream answer = connection.getInputStream()) {
                    received += answer.readAllBytes().length;
                }
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] addresses) {
        for (int n = 0; n < 2; n++) {
            new Thread(() -> ask(addresses), "asking-" + n).start();
        }
    }
}
