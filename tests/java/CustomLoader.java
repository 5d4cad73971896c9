/** A system class loader that takes no additions to its class path. */
public class CustomLoader extends ClassLoader {
    public CustomLoader(ClassLoader parent) {
        super(parent);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
