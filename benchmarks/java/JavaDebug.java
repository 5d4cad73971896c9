import com.microsoft.java.debug.core.IEvaluatableBreakpoint;
import com.microsoft.java.debug.core.adapter.HotCodeReplaceEvent;
import com.microsoft.java.debug.core.adapter.ICompletionsProvider;
import com.microsoft.java.debug.core.adapter.IEvaluationProvider;
import com.microsoft.java.debug.core.adapter.IHotCodeReplaceProvider;
import com.microsoft.java.debug.core.adapter.IProviderContext;
import com.microsoft.java.debug.core.adapter.ISourceLookUpProvider;
import com.microsoft.java.debug.core.adapter.IVirtualMachineManagerProvider;
import com.microsoft.java.debug.core.adapter.ProtocolServer;
import com.microsoft.java.debug.core.adapter.ProviderContext;
import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import io.reactivex.Observable;
import io.reactivex.subjects.PublishSubject;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The debugger of VS Code's Java extension, which speaks the Debug Adapter Protocol over its input
 * and output: JavaDebug CLASS, the class of all breakpoints. What the language server knows
 * otherwise is missing: expressions, and so conditions.
 */
public class JavaDebug {
    public static void main(String[] arguments) {
        IProviderContext context = new ProviderContext();
        IVirtualMachineManagerProvider machines = Bootstrap::virtualMachineManager;
        context.registerProvider(IVirtualMachineManagerProvider.class, machines);
        context.registerProvider(ISourceLookUpProvider.class, new Sources(arguments[0]));
        context.registerProvider(IHotCodeReplaceProvider.class, new NoReplacement());
        ICompletionsProvider completions = (frame, text, line, column) -> Collections.emptyList();
        context.registerProvider(ICompletionsProvider.class, completions);
        context.registerProvider(IEvaluationProvider.class, new NoExpressions());
        new ProtocolServer(System.in, System.out, context).run();
    }

    static class Sources implements ISourceLookUpProvider {
        final String name;

        Sources(String name) {
            this.name = name;
        }

        public boolean supportsRealtimeBreakpointVerification() {
            return true;
        }

        public String[] getFullyQualifiedName(String source, int[] lines, int[] columns) {
            String[] found = new String[lines.length];
            Arrays.fill(found, name);
            return found;
        }

        public String getSourceFileURI(String name, String path) {
            return path;
        }

        public String getSourceContents(String source) {
            return "";
        }
    }

    static class NoExpressions implements IEvaluationProvider {
        public boolean isInEvaluation(ThreadReference thread) {
            return false;
        }

        public CompletableFuture<Value> evaluate(String text, ThreadReference thread, int depth) {
            return refused();
        }

        public CompletableFuture<Value> evaluate(
                String text, ObjectReference self, ThreadReference thread) {
            return refused();
        }

        public CompletableFuture<Value> evaluateForBreakpoint(
                IEvaluatableBreakpoint breakpoint, ThreadReference thread) {
            return refused();
        }

        public CompletableFuture<Value> invokeMethod(
                ObjectReference self,
                String name,
                String signature,
                Value[] arguments,
                ThreadReference thread,
                boolean ofSuperclass) {
            try {
                Method method = self.referenceType().methodsByName(name, signature).get(0);
                List<Value> passed =
                        arguments == null ? Collections.emptyList() : Arrays.asList(arguments);
                int how = ObjectReference.INVOKE_SINGLE_THREADED;
                return CompletableFuture.completedFuture(
                        self.invokeMethod(thread, method, passed, how));
            } catch (Exception error) {
                return CompletableFuture.failedFuture(error);
            }
        }

        public void clearState(ThreadReference thread) {}

        private static CompletableFuture<Value> refused() {
            return CompletableFuture.failedFuture(new UnsupportedOperationException());
        }
    }

    static class NoReplacement implements IHotCodeReplaceProvider {
        public void onClassRedefined(Consumer<List<String>> changed) {}

        public CompletableFuture<List<String>> redefineClasses() {
            return CompletableFuture.completedFuture(Collections.emptyList());
        }

        public Observable<HotCodeReplaceEvent> getEventHub() {
            return PublishSubject.create();
        }
    }
}
