import ArgumentParser
import Foundation
import LMDBCaching

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Shows a cache in a browser: its entries and their values, what takes up space, and what is being done.",
    discussion: """
      Writes the address of a page to standard output, and shows it until Ctrl-C. The page is for this machine alone: \
      the server listens on 127.0.0.1, and the address holds random characters that nobody else knows. Whoever has the \
      address sees everything in the cache, so do not give it away. The page asks nobody else for anything.

      The cache is not opened, and nothing in it is changed. With --writable entries can be removed and the cache be \
      trimmed, after a question; it is opened for that, and closed again.

      Examples:
        lmdb-cache serve --cache ./demo
        lmdb-cache serve --port 8080 --writable --cache ./demo

      Ctrl-C ends it with 0.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Option(help: "The port to listen on. (default: one that is free)") var port: UInt16?
  @Flag(help: "Lets the page remove entries and trim the cache.") var writable = false

  func run() throws {
    let events = try TerminalEvents(fillsScreen: false)
    // Makes writing to a closed connection an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    try option.withReader { reader in
      let server = try HTTPServer(port: port ?? 0)
      let site = InspectorSite(reader, cache: option.cache, isWritable: writable, port: server.port)
      server.start { (request) throws(HTTPRefusal) in
        try site.admit(request)
      } answer: { (request, connection) throws(HTTPRefusal) in
        try site.answer(request, connection)
      }
      try StandardOutput.write(site.address + "\n")
      while events.next(within: 3_600_000_000_000) != .end {}
      site.finishChanges()
    }
  }
}
