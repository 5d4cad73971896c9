import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Uses a database without an end, from as many threads as there are processors: each round fills a
 * table, changes it, asks it, and empties it. The argument is the URL.
 */
public class Queried {
    static volatile long sink;

    static void round(Connection connection, String table, int round) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("insert into " + table + " values (?, ?, ?)")) {
            for (int i = 0; i < 500; i++) {
                insert.setInt(1, i);
                insert.setString(2, "customer " + (i * 7 + round) % 31);
                insert.setBigDecimal(3, new java.math.BigDecimal(i * 125).movePointLeft(2));
                insert.addBatch();
            }
            insert.executeBatch();
        }
        connection.commit();
        try (Statement statement = connection.createStatement()) {
            statement.execute("update " + table + " set total = total * 2 where id % 7 = 3");
            for (int i = 0; i < 5; i++) {
                try (ResultSet rows =
                        statement.executeQuery(
                                "select customer, count(*), sum(total), max(id) from "
                                        + table
                                        + " where customer like '%1%' group by customer"
                                        + " having sum(total) > 100 order by 3 desc, 1")) {
                    while (rows.next()) {
                        sink += rows.getString(1).length() + rows.getLong(2);
                    }
                }
            }
            statement.execute("delete from " + table);
        }
        connection.commit();
    }

    static void work(String url, int number) {
        String table = "orders" + number;
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        "create table "
                                + table
                                + "(id int primary key, customer varchar(40), total decimal(12, 2))");
                statement.execute("create index by_" + table + " on " + table + "(customer)");
            }
            connection.setAutoCommit(false);
            for (int n = 0; ; n++) {
                round(connection, table, n);
            }
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) {
        for (int n = 0; n < 2; n++) {
            int number = n;
            new Thread(() -> work(arguments[0], number), "queries-" + n).start();
        }
    }
}
