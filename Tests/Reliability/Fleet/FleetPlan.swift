import Foundation

/// An operation of a fleet's machine, as recorded in its history. Times are monotonic and shared by all processes.
struct FleetEvent: Equatable, Sendable {
  enum Kind: UInt8, Sendable {
    /// A write is about to start; its outcome is unknown.
    case begun
    case acknowledged
    /// A read, with the version it found; 0 means nothing.
    case read
    /// A thread overslept by this long: the scheduler may have held up the machine's other threads too.
    case paused
    /// Everything the machine wrote before this event began is on the server.
    case flushed
  }

  var kind: Kind
  var isRemoval = false
  /// Whether one of the machine's requests to the server failed in between.
  var hasFailure = false
  var key: Int
  /// Writes of a key are numbered from 1.
  var version: Int
  /// Wall-clock expiry; 0 means never. The earliest time for `begun`, the latest for `acknowledged`.
  var expires: Int64 = 0
  var start: Int64
  var end: Int64

  init(
    _ kind: Kind, key: Int, version: Int, isRemoval: Bool = false, expires: Int64 = 0, start: Int64, end: Int64
  ) {
    (self.kind, self.key, self.version, self.start, self.end) = (kind, key, version, start, end)
    (self.isRemoval, self.expires) = (isRemoval, expires)
  }

  /// Its memory: the same program reads and writes it.
  var bytes: Data { withUnsafeBytes(of: self) { Data($0) } }

  /// The events of a file. Ignores the partial last one of a killed process.
  static func events(in path: String) -> [FleetEvent] {
    let size = MemoryLayout<FleetEvent>.size
    return (FileManager.default.contents(atPath: path) ?? Data()).withUnsafeBytes { bytes in
      (0..<bytes.count / size).map { bytes.loadUnaligned(fromByteOffset: $0 * size, as: FleetEvent.self) }
    }
  }
}

/// Which machine writes which keys, and how old a read may be.
struct FleetPlan {
  static let machines = 6
  static let threads = 2
  /// Keys below this number have a single writing thread each.
  static let ownKeys = 200
  /// All machines write the keys from `ownKeys` up.
  static let keys = 220
  /// These write behind: the first queues in memory, the second in a folder.
  static let queueMachines = [3, 4]
  /// The machine whose queue survives a kill.
  static let killedMachine = 4
  /// Shares the directory of the machine with the queue in memory.
  static let sharingMachine = 5
  /// Machines with small local tiers, so that they evict.
  static let smallMachines = [0, 2]
  /// How long the server delays a reply to a client that waits for changes.
  static let wait: Int64 = 1_000_000_000
  static let timeLimit: Int64 = 500_000_000
  /// Longer scheduling pauses are recorded, since requests may have been late.
  static let notedPause: Int64 = 100_000_000
  /// By then, circuit breakers and followers have recovered.
  static let recovery: Int64 = 2_500_000_000
  /// The greatest replication lag: a promotion may lose writes that are at most this old.
  static let replicationLag: Int64 = 2_000_000_000

  /// How old a served value may be while the fleet is unreachable.
  static func servesUnheardFor(_ machine: Int) -> Int64 { machine % 2 == 0 ? 0 : 2_000_000_000 }

  static func directory(of machine: Int) -> Int {
    machine == sharingMachine ? queueMachines[0] : machine
  }

  static func sharesDirectory(_ machine: Int) -> Bool {
    machine == sharingMachine || machine == directory(of: sharingMachine)
  }

  static func isContested(_ key: Int) -> Bool { key >= ownKeys }
  /// For keys with a single writing machine.
  static func writer(of key: Int) -> Int { key % machines }
  static func thread(of key: Int) -> Int { key / machines % threads }
  /// Whether a loader computes it from the shared source, and machines only remove it when the source changes.
  static func isLoaded(_ key: Int) -> Bool { !isContested(key) && key / (machines * threads) % 2 == 1 }
  static func name(_ key: Int) -> String { "key/\(key % 10)/\(key)" }

  // Each thread of each machine numbers its own versions of a contested key.

  static func version(_ number: Int, machine: Int, thread: Int) -> Int {
    (machine * threads + thread) << 32 | number
  }

  /// How long a machine may keep reading the old value after a write reached the server.
  static func bound(reader: Int) -> Int64 { wait + timeLimit + servesUnheardFor(reader) }
}
