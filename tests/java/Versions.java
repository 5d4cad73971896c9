import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Has a method that runs for as long as wanted, while others call it, too. */
public class Versions {
  static volatile int ended;

  static int work(int number, String text) throws InterruptedException {
    int before = ended;
    while (number > 5 && ended == before) {
      Thread.sleep(2);
    }
    return number + text.length();
  }

  static int other(int number) {
    return number + 1;
  }

  static String answer(String request) throws Exception {
    switch (request) {
      case "start":
        Thread thread = new Thread(() -> {
          try {
            work(10, "");
          } catch (InterruptedException interrupted) {
            return;
          }
        }, "worker");
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
          Thread.sleep(1);
        }
        return "started";
      case "end":
        ended++;
        return "ended";
      default:
        return "" + work(1, request) + other(1);
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String request; (request = requests.readLine()) != null; ) {
      System.out.println(answer(request));
      System.out.flush();
    }
  }
}
