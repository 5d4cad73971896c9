package shop;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with a servlet: /round?n=5 answers what a shop sells in its fifth round. */
public class ShopServer extends HttpServlet {
    int sold;

    int price(int count) {
        int net = count * 10; // NET
        return net + 1; // RETURN
    }

    int round(int number) {
        int price = price(number); // PRICE
        List<Integer> counts = IntStream.of(1, 2, 3).boxed().collect(Collectors.toList());
        int all = counts.stream().mapToInt(one -> one * number).sum(); // SUM
        sold = number; // SOLD
        int sum = price - number % 3 + all; // TOTAL
        try {
            if (number % 5 == 0) {
                throw new IllegalStateException("round " + number); // THROW
            }
        } catch (IllegalStateException expected) {
            sum--; // CAUGHT
        }
        return sum; // END
    }

    @Override
    protected void doGet(HttpServletRequest asked, HttpServletResponse answer) throws IOException {
        int number = Integer.parseInt(asked.getParameter("n"));
        answer.getWriter().print(round(number)); // ANSWER
    }

    /** The executor of virtual threads, where the JVM has them. */
    static Executor virtual() throws ReflectiveOperationException {
        return (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    public static void main(String[] arguments) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[0]);
        tomcat.setPort(0);
        tomcat.getConnector();
        if (arguments.length > 1) {
            tomcat.getConnector().getProtocolHandler().setExecutor(virtual());
        }
        Context context = tomcat.addContext("", new File(arguments[0]).getAbsolutePath());
        Tomcat.addServlet(context, "shop", new ShopServer());
        context.addServletMappingDecoded("/round", "shop");
        tomcat.start();
        System.out.println("port " + tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }
}
