import java.lang.instrument.Instrumentation;
import java.util.Arrays;

/** An agent that has classes retransformed without changing them, each time that it is loaded. */
public class Retransforms {
  public static void agentmain(String prefix, Instrumentation vm) throws Exception {
    vm.retransformClasses(
        Arrays.stream(vm.getAllLoadedClasses())
            .filter(one -> one.getName().startsWith(prefix))
            .toArray(Class<?>[]::new));
  }
}
