import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Timespan;

/**
 * Writes events with the names and fields of those that the JDK's sampler of processor time has from 25 on: a hundred
 * samples, each for ten million ticks, of which seven are biased, and twice the loss of nine.
 */
public final class RecordedSamples {
    @Name("jdk.CPUTimeSample")
    static final class Sample extends Event {
        boolean failed;

        @Timespan(Timespan.TICKS)
        long samplingPeriod;

        boolean biased;
    }

    @Name("jdk.CPUTimeSamplesLost")
    static final class Lost extends Event {
        int lostSamples;
    }

    private RecordedSamples() {}

    public static void main(String[] args) {
        for (int i = 0; i < 100; i++) {
            Sample sample = new Sample();
            sample.samplingPeriod = 10_000_000;
            sample.biased = i < 7;
            sample.commit();
        }
        for (int i = 0; i < 2; i++) {
            Lost lost = new Lost();
            lost.lostSamples = 9;
            lost.commit();
        }
    }
}
