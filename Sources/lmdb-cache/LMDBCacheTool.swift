import ArgumentParser
import Foundation

/// The command line tool: inspects and changes caches, and replays request traces.
@main
struct LMDBCacheTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lmdb-cache",
    abstract: "Looks into a cache of LMDBCaching, changes it, or replays a trace of requests through one.",
    discussion: """
      --cache takes the path of a directory if it has a slash (./thumbnails), else the name that a program of this \
      user gave to its cache. Several processes may use a cache at once, \
      so the tool may look into one that is in use. ls, get, stat, verify and serve change nothing, and need no \
      permission but to read. Data goes to standard output, messages to standard error.

      Examples:
        lmdb-cache set greeting hello --cache ./demo
        lmdb-cache get greeting --cache ./demo

      \(ExitStatus.explanation)
      """,
    version: ToolVersion.current,
    subcommands: [
      ReplayCommand.self, GetCommand.self, SetCommand.self, RemoveCommand.self, ListCommand.self, StatCommand.self,
      TrimCommand.self, ClearCommand.self, VerifyCommand.self, TopCommand.self, WatchCommand.self, ServeCommand.self,
      ExportCommand.self, ImportCommand.self, BackupCommand.self, RestoreCommand.self,
    ]
  )

  /// Like the parser's own `main`, with exit codes for failures of a cache or a file.
  static func main() {
    // A write beyond a limit of file sizes is an error then.
    signal(SIGXFSZ, SIG_IGN)
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      guard let error = ToolError(any: error) else { end(with: error) }
      StandardError.tell(error.message)
      exit(withError: error.status.code)
    }
  }

  /// The parser's exit, with its messages escaped: they may quote untrusted arguments.
  private static func end(with error: any Error) -> Never {
    let code = exitCode(for: error)
    let message = fullMessage(for: error)
    if code.isSuccess || message.isEmpty { exit(withError: error) }
    StandardError.write(Formatting.lines(message) + "\n")
    exit(withError: code)
  }
}
