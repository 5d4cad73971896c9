import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.Bootstrap;
import com.sun.jdi.Field;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.IntegerValue;
import com.sun.jdi.LocalVariable;
import com.sun.jdi.Location;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.StringReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.BreakpointRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.StepRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Map;

/**
 * A debugger by JDI, as small as one can be, spoken to line by line: JdiDebugger PORT LINE.
 *
 * <p>Each command prints what it took in nanoseconds; those that set a breakpoint print as soon as
 * it is there, and serve it until the next command. A condition is what a debugger makes of it: the
 * variables are fetched, and the program goes on where they are others.
 */
public class JdiDebugger {
    static VirtualMachine vm;
    static int line;
    static volatile boolean serves;
    static Thread serving;
    static StringBuilder log = new StringBuilder();
    static boolean never;

    public static void main(String[] arguments) throws Exception {
        line = Integer.parseInt(arguments[1]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String command; (command = commands.readLine()) != null; ) {
            if (serving != null) {
                serves = false;
                serving.join();
                serving = null;
                vm.eventRequestManager().deleteAllBreakpoints();
                drain();
            }
            long began = System.nanoTime();
            switch (command) {
                case "attach":
                    vm = attach(arguments[0]);
                    break;
                case "first stop":
                    vm = attach(arguments[0]);
                    breakpoint();
                    stopped();
                    break;
                case "look":
                    began = System.nanoTime();
                    look(stoppedThread);
                    break;
                case "step":
                    step();
                    break;
                case "go on":
                    vm.eventRequestManager().deleteAllBreakpoints();
                    resume();
                    break;
                case "threads":
                    threads();
                    break;
                case "condition":
                    breakpoint();
                    serve(() -> never |= holds());
                    break;
                case "log":
                    breakpoint();
                    serve(JdiDebugger::write);
                    break;
                case "detach":
                    vm.dispose();
                    break;
                default:
                    began = System.nanoTime();
            }
            System.out.println(System.nanoTime() - began);
        }
    }

    static VirtualMachine attach(String port) throws Exception {
        AttachingConnector connector =
                Bootstrap.virtualMachineManager().attachingConnectors().stream()
                        .filter(one -> one.name().equals("com.sun.jdi.SocketAttach"))
                        .findFirst()
                        .orElseThrow();
        Map<String, Connector.Argument> how = connector.defaultArguments();
        how.get("hostname").setValue("127.0.0.1");
        how.get("port").setValue(port);
        for (int attempt = 0; ; attempt++) {
            try {
                return connector.attach(how);
            } catch (IOException refused) {
                // It begins to listen again after the debugger before has left.
                if (attempt == 1000) {
                    throw refused;
                }
                Thread.sleep(1);
            }
        }
    }

    // ---- stops ---------------------------------------------------------------------------------

    static ThreadReference stoppedThread;
    static EventSet waiting;

    static void breakpoint() throws AbsentInformationException {
        ReferenceType type = vm.classesByName("DebuggedWork$Order").get(0);
        BreakpointRequest request =
                vm.eventRequestManager().createBreakpointRequest(type.locationsOfLine(line).get(0));
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
    }

    static void stopped() throws InterruptedException {
        while (true) {
            EventSet events = vm.eventQueue().remove();
            for (Event event : events) {
                if (event instanceof BreakpointEvent) {
                    stoppedThread = ((BreakpointEvent) event).thread();
                    waiting = events;
                    return;
                }
                if (event instanceof StepEvent) {
                    stoppedThread = ((StepEvent) event).thread();
                    waiting = events;
                    return;
                }
            }
            events.resume();
        }
    }

    static void resume() {
        waiting.resume();
        waiting = null;
    }

    static void step() throws InterruptedException {
        StepRequest request =
                vm.eventRequestManager()
                        .createStepRequest(
                                stoppedThread, StepRequest.STEP_LINE, StepRequest.STEP_OVER);
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.addCountFilter(1);
        request.enable();
        resume();
        stopped();
        vm.eventRequestManager().deleteEventRequest(request);
    }

    static void drain() throws InterruptedException {
        for (EventSet events; (events = vm.eventQueue().remove(50)) != null; ) {
            events.resume();
        }
    }

    /** All frames with their names and lines, and the topmost one's variables and fields. */
    static int look(ThreadReference thread) throws Exception {
        int seen = 0;
        for (StackFrame frame : thread.frames()) {
            Location location = frame.location();
            seen += location.declaringType().name().length();
            seen += location.method().name().length() + location.lineNumber();
            seen += source(location).length();
        }
        StackFrame top = thread.frame(0);
        for (Map.Entry<LocalVariable, Value> one :
                top.getValues(top.visibleVariables()).entrySet()) {
            seen += one.getKey().name().length() + text(one.getValue()).length();
        }
        ObjectReference self = top.thisObject();
        for (Map.Entry<Field, Value> one :
                self.getValues(self.referenceType().allFields()).entrySet()) {
            seen += one.getKey().name().length() + text(one.getValue()).length();
        }
        return seen;
    }

    static String source(Location location) {
        try {
            return location.sourcePath();
        } catch (AbsentInformationException of) {
            return ""; // the JDK of a runtime image
        }
    }

    static String text(Value value) {
        if (value instanceof StringReference) {
            return ((StringReference) value).value();
        }
        return value instanceof ObjectReference
                ? ((ObjectReference) value).referenceType().name()
                : String.valueOf(value);
    }

    static int threads() {
        int seen = 0;
        for (ThreadReference one : vm.allThreads()) {
            seen += one.name().length();
        }
        return seen;
    }

    // ---- conditions and texts ------------------------------------------------------------------

    static ThreadReference hit;

    interface Served {
        void serve() throws Exception;
    }

    static void serve(Served served) {
        serves = true;
        serving =
                new Thread(
                        () -> {
                            try {
                                while (serves) {
                                    EventSet events = vm.eventQueue().remove(20);
                                    if (events == null) {
                                        continue;
                                    }
                                    for (Event event : events) {
                                        if (event instanceof BreakpointEvent) {
                                            hit = ((BreakpointEvent) event).thread();
                                            served.serve();
                                        }
                                    }
                                    events.resume();
                                }
                            } catch (Exception error) {
                                throw new IllegalStateException(error);
                            }
                        });
        serving.start();
    }

    static int local(StackFrame frame, String name) throws AbsentInformationException {
        return ((IntegerValue) frame.getValue(frame.visibleVariableByName(name))).value();
    }

    static int total(StackFrame frame) {
        ObjectReference self = frame.thisObject();
        return ((IntegerValue) self.getValue(self.referenceType().fieldByName("total"))).value();
    }

    /** {@code this.total > 100000 && n == 3}, asked from left to right. */
    static boolean holds() throws IncompatibleThreadStateException, AbsentInformationException {
        StackFrame frame = hit.frame(0);
        return total(frame) > 100_000 && local(frame, "n") == 3;
    }

    static void write() throws IncompatibleThreadStateException, AbsentInformationException {
        StackFrame frame = hit.frame(0);
        log.append("n=").append(local(frame, "n")).append(" total=").append(total(frame));
        log.append('\n');
        if (log.length() > 100_000) {
            log.setLength(0);
        }
    }
}
