import com.sun.jdi.Bootstrap;
import com.sun.jdi.Location;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The same measures with the JDK's own debugger interface: Jdi PORT CALLS ROUNDS prints a line for
 * each, a name and nanoseconds.
 */
public class Jdi {
    public static void main(String[] arguments) throws Exception {
        int calls = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        long began = System.nanoTime();
        VirtualMachine vm = attach(arguments[0]);
        List<ThreadReference> threads = vm.allThreads();
        threads.get(0).status();
        print("attach", System.nanoTime() - began);

        ThreadReference one = threads.stream()
                .filter(thread -> thread.name().equals("worker-0")).findFirst().orElseThrow();
        long[] times = new long[calls];
        // Twice, so that the second time finds this program compiled.
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < calls; i++) {
                long start = System.nanoTime();
                one.status();
                times[i] = System.nanoTime() - start;
            }
        }
        print("call", median(times));

        long[] stacks = new long[rounds];
        int frames = 0;
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            frames = stacks(vm);
            stacks[round] = System.nanoTime() - start;
        }
        print("frames", frames);
        print("stacks-first", stacks[0]);
        print("stacks", median(stacks));

        long[] classes = new long[rounds];
        int count = 0;
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            count = classes(vm);
            classes[round] = System.nanoTime() - start;
        }
        print("class-count", count);
        print("classes-first", classes[0]);
        print("classes", median(classes));
        vm.dispose();
    }

    static VirtualMachine attach(String port) throws Exception {
        for (AttachingConnector connector : Bootstrap.virtualMachineManager().attachingConnectors()) {
            if (connector.transport().name().equals("dt_socket")) {
                Map<String, Connector.Argument> options = connector.defaultArguments();
                options.get("hostname").setValue("localhost");
                options.get("port").setValue(port);
                return connector.attach(options);
            }
        }
        throw new IllegalStateException("no connector for sockets");
    }

    /** Every frame of every thread with the names of thread, class and method, and the line. */
    static int stacks(VirtualMachine vm) throws Exception {
        int frames = 0;
        vm.suspend();
        try {
            for (ThreadReference thread : vm.allThreads()) {
                String name = thread.name();
                for (StackFrame frame : thread.frames()) {
                    Location location = frame.location();
                    String type = location.declaringType().name();
                    String method = location.method().name();
                    int line = location.lineNumber();
                    frames += name == null || type == null || method == null || line < -1 ? 0 : 1;
                }
            }
        } finally {
            vm.resume();
        }
        return frames;
    }

    /** Signature, status and loader of every loaded class. */
    static int classes(VirtualMachine vm) {
        List<ReferenceType> types = vm.allClasses();
        int prepared = 0;
        for (ReferenceType type : types) {
            type.signature();
            prepared += type.isPrepared() ? 1 : 0;
            type.classLoader();
        }
        return types.size();
    }

    static long median(long[] times) {
        long[] sorted = times.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    static void print(String name, long value) {
        System.out.println(name + " " + value);
    }
}
