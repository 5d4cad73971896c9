import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Fetches a page from a server of its own, once for each line of its input. */
public class Fetching {
  static final String PAGE = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage";

  static void serve(ServerSocket server) {
    while (true) {
      try (Socket socket = server.accept()) {
        InputStream in = socket.getInputStream();
        int ends = 0;
        while (ends < 4) {
          int read = in.read();
          ends = read == '\r' || read == '\n' ? ends + 1 : 0;
        }
        OutputStream out = socket.getOutputStream();
        out.write(PAGE.getBytes(StandardCharsets.US_ASCII));
        out.flush();
      } catch (java.io.IOException gone) {
        System.err.println(gone);
      }
    }
  }

  static String fetch(int port, String path) throws Exception {
    URI uri = new URI("http", null, "127.0.0.1", port, "/" + path, null, null);
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    try (InputStream in = connection.getInputStream()) {
      return connection.getResponseCode() + " " + new String(in.readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  public static void main(String[] args) throws Exception {
    ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    Thread thread = new Thread(() -> serve(server), "server");
    thread.setDaemon(true);
    thread.start();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(fetch(server.getLocalPort(), line));
    }
  }
}
