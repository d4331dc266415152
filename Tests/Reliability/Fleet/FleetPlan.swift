/// Which machine writes what, and how old what is read may be.
struct FleetPlan {
  static let machines = 6
  static let threads = 2
  /// Each is written by one thread of one machine.
  static let ownKeys = 200
  /// Those after them are written by all.
  static let keys = 220
  /// What they write goes through a queue: in memory, and kept in a folder.
  static let queueMachines = [3, 4]
  /// The one whose queue survives that it is killed.
  static let killedMachine = 4
  /// It shares the directory of the one whose queue is in memory.
  static let sharingMachine = 5
  /// Those that evict: their local tiers are small.
  static let smallMachines = [0, 2]
  /// How long the server holds a reply back to who waits for changes.
  static let wait: Int64 = 1_000_000_000
  static let timeLimit: Int64 = 500_000_000
  /// A thread that is not let on for longer is noted, and requests may have been late then.
  static let notedPause: Int64 = 100_000_000
  /// Breakers and followers are back by then.
  static let recovery: Int64 = 2_500_000_000
  /// By how much a replica may be behind its primary: what was written so long before a promotion may be lost by it.
  static let replicationLag: Int64 = 2_000_000_000

  /// How old a value may be that is served while nothing is heard of the fleet.
  static func servesUnheardFor(_ machine: Int) -> Int64 { machine % 2 == 0 ? 0 : 2_000_000_000 }

  static func directory(of machine: Int) -> Int {
    machine == sharingMachine ? queueMachines[0] : machine
  }

  static func sharesDirectory(_ machine: Int) -> Bool {
    machine == sharingMachine || machine == directory(of: sharingMachine)
  }

  static func isContested(_ key: Int) -> Bool { key >= ownKeys }
  /// Of a key that one machine writes.
  static func writer(of key: Int) -> Int { key % machines }
  static func thread(of key: Int) -> Int { key / machines % threads }
  /// Whether it is made by a loader from what all machines see, and only removed when that changes.
  static func isLoaded(_ key: Int) -> Bool { !isContested(key) && key / (machines * threads) % 2 == 1 }
  static func name(_ key: Int) -> String { "key/\(key % 10)/\(key)" }

  // The versions of a contested key are numbered by each thread of each machine.

  static func version(_ number: Int, machine: Int, thread: Int) -> Int {
    (machine * threads + thread) << 32 | number
  }

  static func machine(ofVersion version: Int) -> Int { version >> 32 / threads }

  /// For how long a machine may read what is on the server as it was before.
  static func bound(reader: Int) -> Int64 { wait + timeLimit + servesUnheardFor(reader) }
}
