/** What instrumented classes of the platform call; its jar is on the boot loader's path. */
public class Helper {
    public static int hits;

    public static void hit() {
        hits++;
    }
}
