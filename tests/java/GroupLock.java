import java.util.concurrent.CountDownLatch;

/** One thread calls `inside` with the lock of the topmost thread group, another `outside` without. */
public class GroupLock {
  static void inside() {}

  static void outside() {}

  public static void main(String[] args) throws Exception {
    ThreadGroup top = Thread.currentThread().getThreadGroup();
    while (top.getParent() != null) top = top.getParent();
    ThreadGroup group = top;
    System.out.println("ready");
    System.in.read();
    CountDownLatch locked = new CountDownLatch(1);
    Thread other = new Thread(GroupLock::outside, "outside");
    other.start();
    System.out.println("started");
    System.in.read();
    Thread holder =
        new Thread(
            () -> {
              synchronized (group) {
                locked.countDown();
                inside();
              }
              System.out.println("left");
            },
            "inside");
    holder.start();
    locked.await();
    System.out.println("locked");
    System.in.read();
  }
}
