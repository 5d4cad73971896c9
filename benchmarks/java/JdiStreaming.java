import com.sun.jdi.Bootstrap;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.MethodEntryRequest;
import com.sun.jdi.request.ModificationWatchpointRequest;
import java.util.Map;

/** Gets every call, or of every writing of the field, through JDI; no thread is stopped. */
public class JdiStreaming {
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
        ReferenceType type = vm.classesByName("Streaming").get(0);
        EventRequestManager requests = vm.eventRequestManager();
        EventRequest request;
        if (arguments[1].equals("call")) {
            MethodEntryRequest entries = requests.createMethodEntryRequest();
            entries.addClassFilter(type);
            request = entries;
        } else {
            request = requests.createModificationWatchpointRequest(type.fieldByName("field"));
        }
        request.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        request.enable();
        System.out.println("ready");
        try {
            while (true) {
                vm.eventQueue().remove();
            }
        } catch (VMDisconnectedException ended) {
            // The program is done.
        }
    }
}
