import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Starts child processes with the command that its arguments are.
 *
 * <p>Lines on standard input: {@code run} starts a child without input and waits for its end,
 * {@code start} starts one that stays, {@code end} lets the last of those leave. Each is answered
 * with the child's process id or its exit status.
 */
public class Parent {
    public static void main(String[] command) throws Exception {
        Deque<Process> children = new ArrayDeque<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = lines.readLine()) != null; ) {
            if (line.equals("end")) {
                Process child = children.pop();
                child.getOutputStream().close();
                System.out.println(child.waitFor());
                continue;
            }
            Process child = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start();
            if (line.equals("start")) {
                // Its first line tells that it runs.
                new BufferedReader(new InputStreamReader(child.getInputStream())).readLine();
                children.push(child);
                System.out.println(child.pid());
            } else {
                child.getOutputStream().close();
                System.out.println(child.waitFor());
            }
        }
        for (Process child : children) {
            child.destroy();
        }
    }
}
