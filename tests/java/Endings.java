/** Ends in the way that its argument says: return, exit, halt, throw; its status then is 0, 3, 4, 1. */
public class Endings {
    public static void main(String[] arguments) throws Exception {
        System.out.println("runs");
        System.out.flush();
        switch (arguments[0]) {
            case "exit":
                System.exit(3);
                break;
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            case "throw":
                throw new IllegalStateException("an end");
            default:
        }
    }
}
