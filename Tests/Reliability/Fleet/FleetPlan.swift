/// Which machine writes what, and how old what is read may be.
struct FleetPlan {
  static let machines = 5
  static let threads = 2
  static let keys = 200
  /// What the last machine writes goes through a queue.
  static let queueMachine = machines - 1
  /// How long the server holds a reply back to who waits for changes.
  static let wait: Int64 = 1_000_000_000
  static let timeLimit: Int64 = 500_000_000
  /// What two cores take on top when ten threads and a server share them.
  static let slack: Int64 = 500_000_000
  /// A thread that is not let on for longer is noted, and requests may have been late then.
  static let notedPause: Int64 = 100_000_000
  /// Breakers and followers are back by then.
  static let recovery: Int64 = 2_500_000_000

  /// How old a value may be that is served while nothing is heard of the fleet.
  static func servesUnheardFor(_ machine: Int) -> Int64 { machine % 2 == 0 ? 0 : 2_000_000_000 }

  static func writer(of key: Int) -> Int { key % machines }
  static func thread(of key: Int) -> Int { key / machines % threads }
  /// Whether it is made by a loader from what all machines see, and only removed when that changes.
  static func isLoaded(_ key: Int) -> Bool { key / (machines * threads) % 2 == 1 }
  static func name(_ key: Int) -> String { "key/\(key % 10)/\(key)" }

  /// For how long a machine may read what was acknowledged to another one as it was before.
  static func bound(_ key: Int, reader: Int) -> Int64? {
    if writer(of: key) == reader { return 0 }
    if writer(of: key) == queueMachine { return nil }
    return wait + timeLimit + servesUnheardFor(reader) + slack
  }
}
