import ArgumentParser
import Foundation
import LMDBCaching

struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "watch", "Writes what happens to the entries of a cache, as it happens, whichever process does it.",
    """
    One line for each change: when it was seen (UTC), the kind of change, the size and format of a value that was set, \
    and the key, with control characters escaped. --json gives keys as they are.

    Reads the cache without opening it, at most a tenth of the time; only the last of several quick changes of a key is \
    shown. Evictions appear as removals. With more than \(Formatting.grouped(trackingLimit)) entries, or 16 MB of keys, \
    "missed" says only that something changed: give a --prefix.

    Ends with Ctrl-C, or when its output is closed. Waits a few seconds for a deleted cache to be created again.

    Examples:
      lmdb-cache watch --prefix user: --cache ./demo
      lmdb-cache watch --json --cache ./demo | jq -r 'select(.change == "expired").key'
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
      try CacheOpening.reader(at: CacheLocation.directory(option.cache)), prefix: prefix,
      trackingLimit: Self.trackingLimit)
    // Starts from the current contents.
    try follower.follow { _ in }
    return follower
  }

  private static func isOfMissingCache(_ error: any Error) -> Bool { (error as? ToolError)?.status == .noInput }

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
      time, Formatting.padded(change, 11), Formatting.padded(size, -11), Formatting.padded(format ?? "-", 15),
      key.map(Formatting.key) ?? "-",
    ]
    return cells.joined(separator: "  ")
  }
}
