import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * {@code run MILLIS} works in a method whose compiled caller believes that a class has no subclass
 * that matters, until the method loads one. {@code deep}, {@code interpreted} and {@code
 * initializer} have a compiled method, an interpreted one, or the initializer of a class between.
 */
public class Deoptimized {
  // Each way has two classes of its own, because loading the second one deoptimizes only once.
  static class Only {
    long value() {
      return 1;
    }
  }

  static class Another extends Only {
    @Override
    long value() {
      return 2;
    }
  }

  static class OnlyDeep {
    long value() {
      return 1;
    }
  }

  static class AnotherDeep extends OnlyDeep {
    @Override
    long value() {
      return 2;
    }
  }

  static class OnlyInterpreted {
    long value() {
      return 1;
    }
  }

  static class AnotherInterpreted extends OnlyInterpreted {
    @Override
    long value() {
      return 2;
    }
  }

  static class OnlyInitialized {
    long value() {
      return 1;
    }
  }

  static class AnotherInitialized extends OnlyInitialized {
    @Override
    long value() {
      return 2;
    }
  }

  static class Late {
    static final long SUM = work(4, asked);
  }

  static volatile long sink;
  static long asked;

  static long caller(Only one, long millis) {
    return work(1, millis) + one.value();
  }

  static long callerOfDeep(OnlyDeep one, long millis) {
    return deep(millis) + one.value();
  }

  static long deep(long millis) {
    return work(2, millis) + 1;
  }

  static long callerOfInterpreted(OnlyInterpreted one, long millis) {
    return interpreted(millis) + one.value();
  }

  static long interpreted(long millis) {
    return work(3, millis) + 1;
  }

  static long callerOfInitializer(OnlyInitialized one, long millis) {
    return initialized(millis) + one.value();
  }

  static long initialized(long millis) {
    asked = millis;
    return millis == 0 ? 0 : Late.SUM;
  }

  static long work(int way, long millis) {
    long sum = millis == 0 ? 0 : load(way);
    long until = System.nanoTime() + millis * 1_000_000;
    while (System.nanoTime() < until) {
      for (int i = 0; i < 5000; i++) sum = sum * 31 + (sum >>> 7) + i;
    }
    return sum;
  }

  static long load(int way) {
    switch (way) {
      case 1:
        return new Another().value();
      case 2:
        return new AnotherDeep().value();
      case 3:
        return new AnotherInterpreted().value();
      default:
        return new AnotherInitialized().value();
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Only one = new Only();
    OnlyDeep deep = new OnlyDeep();
    OnlyInterpreted interpreted = new OnlyInterpreted();
    OnlyInitialized initialized = new OnlyInitialized();
    for (int i = 0; i < 20_000; i++) {
      sink += caller(one, 0);
      sink += callerOfDeep(deep, 0);
      sink += callerOfInterpreted(interpreted, 0);
      sink += callerOfInitializer(initialized, 0);
    }
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      long millis = Long.parseLong(words[1]);
      switch (words[0]) {
        case "run":
          sink += caller(one, millis);
          break;
        case "deep":
          sink += callerOfDeep(deep, millis);
          break;
        case "interpreted":
          sink += callerOfInterpreted(interpreted, millis);
          break;
        default:
          sink += callerOfInitializer(initialized, millis);
          break;
      }
      System.out.println("done");
    }
  }
}
