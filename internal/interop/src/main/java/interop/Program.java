package interop;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.pekko.actor.ActorSystem;

/**
 * Does with the real plug-in what it is asked to on standard input, a JSON object a line, and answers each on standard
 * output with one. It ends with its input.
 */
public final class Program {
  private Program() {}

  public static void main(String[] args) throws Exception {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // whatever else prints must not come between the answers
    ObjectMapper json = new ObjectMapper();
    ActorSystem system = ActorSystem.create("interop");
    Operations operations = new Operations(system);
    try (BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        ObjectNode answer;
        try {
          answer = operations.run(json.readTree(line));
        } catch (Exception e) {
          answer = json.createObjectNode().put("failure", e.toString());
        }
        answers.println(json.writeValueAsString(answer));
      }
    }
    system.terminate();
    System.exit(0); // the plug-in leaves threads behind
  }
}
