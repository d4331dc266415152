import ArgumentParser
import Foundation
import LMDBCaching

struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Writes what happens to the entries of a cache, as it happens, whichever process does it.",
    discussion: """
      One line for each change, with when it was seen (UTC), what it is, the size and the format of the value that was \
      set, and the key. Characters of keys that would garble a line are escaped; --json gives keys as they are.

      The cache is not opened, and nothing in it is changed. It is looked at as often as something was committed, and \
      for at most a tenth of the time: what happens to a key in between is one line, the last. An entry that goes to \
      keep a limit is removed, as far as can be seen. Where there are more entries than can be kept in mind \
      (\(Formatting.grouped(trackingLimit)), or 16 MB of keys), "missed" says that something has changed, and no more: \
      a --prefix helps.

      It goes on until Ctrl-C, or until nobody reads its output. A cache that is deleted is waited for a few seconds, \
      as processes that have it open make it anew.

      Examples:
        lmdb-cache watch --prefix user: --cache ./demo
        lmdb-cache watch --json --cache ./demo | jq -r 'select(.change == "expired").key'

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Option(help: "Tells only of keys that start with this, byte for byte.") var prefix = ""
  @Flag(help: "Writes an object for each change, one a line.") var json = false

  static let trackingLimit = 300_000
  /// Nanoseconds between two looks.
  private static let interval: UInt64 = 100_000_000
  /// How long a cache may be missing, in nanoseconds.
  private static let goneLimit: UInt64 = 5_000_000_000

  func run() throws {
    let events = try TerminalEvents(fillsScreen: false)
    // Makes writing to a closed pipe an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    var follower = try follower()
    var lastSeen = Platform.nanoseconds()
    var isGone = false
    while true {
      do {
        if isGone {
          // By its path, which may lead to another directory now.
          follower = try self.follower()
          try write([ChangeLine(missed: Date())])
          isGone = false
        }
        var lines: [ChangeLine] = []
        // Changes reported before a failure are not reported again.
        let result = Result {
          try CacheOpening.looking {
            try follower.follow { event in
              lines.append(ChangeLine(event, at: Date()))
              if lines.count == 500 {
                try write(lines)
                lines = []
              }
            }
          }
        }
        try write(lines)
        try result.get()
        lastSeen = Platform.nanoseconds()
      } catch {
        if StandardOutput.isClosed { return }
        if Self.isOfMissingCache(error), Platform.nanoseconds() - lastSeen < Self.goneLimit {
          isGone = true
        } else if (error as? CacheError)?.code != .busy {
          throw error
        }
        // Others write too fast for now.
      }
      if StandardOutput.isClosed || events.next(within: Self.interval) == .end { return }
    }
  }

  private func follower() throws -> CacheFollower {
    let follower = CacheFollower(
      try CacheOpening.reader(option.cache), prefix: prefix, trackingLimit: Self.trackingLimit)
    // Starts from the current contents.
    try follower.follow { _ in }
    return follower
  }

  private static func isOfMissingCache(_ error: any Error) -> Bool {
    (error as? ToolError)?.status == .noInput
  }

  private func write(_ lines: [ChangeLine]) throws {
    if lines.isEmpty { return }
    try StandardOutput.write(
      lines.map { (try json ? JSONOutput.encode($0, pretty: false) : $0.text) + "\n" }.joined())
  }
}

/// One change, as printed by `watch`.
struct ChangeLine: Encodable {
  /// set, removed, expired, removed all, or missed.
  let change: String
  let date: Date
  /// Absent for bulk removals, and if unknown.
  let key: String?
  /// The size of a set value.
  let size: Int?
  let format: String?
  /// Absent if the entry does not expire.
  let expires: Date?

  init(_ event: CacheFollower.Event, at date: Date) {
    change =
      switch event.change {
      case .set: "set"
      case .removed: "removed"
      case .evicted: "evicted"
      case .expired: "expired"
      case .removedAll: "removed all"
      case .missed: "missed"
      }
    self.date = date
    key = event.change.key
    size = event.entry?.size
    format = event.entry.map { "\($0.format)" }
    expires = event.entry?.expiration
  }

  /// Some changes were missed.
  init(missed date: Date) {
    change = "missed"
    self.date = date
    (key, size, format, expires) = (nil, nil, nil, nil)
  }

  /// Fixed-width columns, because later lines are unknown.
  var text: String {
    let time = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    let size = size.map { Formatting.grouped($0) } ?? "-"
    let cells = [
      time, Self.padded(change, 11), String(repeating: " ", count: max(0, 11 - size.count)) + size,
      Self.padded(format ?? "-", 15), key.map(Formatting.key) ?? "-",
    ]
    return cells.joined(separator: "  ")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
