import com.sun.jdi.Bootstrap;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.request.BreakpointRequest;
import com.sun.jdi.request.EventRequest;
import java.util.Map;

/** Answers breakpoints through JDI, as a debugger does: the event's thread waits, and is resumed. */
public class JdiBreakpoint {
    public static void main(String[] arguments) throws Exception {
        AttachingConnector connector =
                Bootstrap.virtualMachineManager().attachingConnectors().stream()
                        .filter(one -> one.name().equals("com.sun.jdi.SocketAttach"))
                        .findFirst()
                        .get();
        Map<String, Connector.Argument> how = connector.defaultArguments();
        how.get("hostname").setValue("127.0.0.1");
        how.get("port").setValue(arguments[0]);
        VirtualMachine vm = connector.attach(how);
        ReferenceType type = vm.classesByName("Answered").get(0);
        BreakpointRequest request =
                vm.eventRequestManager()
                        .createBreakpointRequest(type.methodsByName("hit").get(0).location());
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
        System.out.println("ready");
        while (true) {
            EventSet events = vm.eventQueue().remove();
            events.resume();
        }
    }
}
