import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Uses a database in memory, through whatever driver is on the class path, and prints what it finds.
 *
 * <p>Arguments: the database's URL, threads, rounds, and "hold" to wait for a line of input first.
 */
public class Querying {
  static String work(String url, int number, int rounds) throws SQLException {
    StringBuilder said = new StringBuilder();
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      String table = "orders" + number;
      statement.execute(
          "create table " + table + "(id int primary key, customer varchar(40), total decimal(12, 2))");
      statement.execute("create index by_customer" + number + " on " + table + "(customer)");
      connection.setAutoCommit(false);
      for (int round = 0; round < rounds; round++) {
        try (PreparedStatement insert =
            connection.prepareStatement("insert into " + table + " values (?, ?, ?)")) {
          for (int i = 0; i < 200; i++) {
            insert.setInt(1, round * 200 + i);
            insert.setString(2, "customer " + (i * 7 + round) % 31);
            insert.setBigDecimal(3, new java.math.BigDecimal(i * 125).movePointLeft(2));
            insert.addBatch();
          }
          insert.executeBatch();
        }
        if (round % 3 == 2) {
          connection.rollback();
        } else {
          connection.commit();
        }
        try (ResultSet rows =
            statement.executeQuery(
                "select customer, count(*), sum(total), max(id) from "
                    + table
                    + " where customer like '%1%' group by customer having sum(total) > 100"
                    + " order by 3 desc, 1")) {
          while (rows.next()) {
            said.append(rows.getString(1)).append(rows.getInt(2)).append(rows.getBigDecimal(3));
            said.append(rows.getInt(4)).append(';');
          }
        }
        try {
          statement.execute("insert into " + table + " values (0, 'twice', 1)");
        } catch (SQLException expected) {
          said.append(expected.getSQLState()).append(expected.getMessage()).append('\n');
        }
        statement.executeUpdate("update " + table + " set total = total * 2 where id % 17 = 3");
        connection.commit();
      }
    }
    return said.toString();
  }

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0];
    int threads = Integer.parseInt(arguments[1]);
    int rounds = Integer.parseInt(arguments[2]);
    // The database lives as long as a connection.
    try (Connection first = DriverManager.getConnection(url)) {
      if (arguments.length > 3) {
        System.out.println("ready");
        System.in.read();
      }
      ExecutorService pool = Executors.newFixedThreadPool(threads);
      List<Future<String>> found = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int number = i;
        Callable<String> task = () -> work(url, number, rounds);
        found.add(pool.submit(task));
      }
      for (Future<String> one : found) {
        System.out.println(one.get());
      }
      pool.shutdown();
    }
  }
}
