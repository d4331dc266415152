import Foundation
import LMDBCaching
import TestSupport

/// The trial cannot continue, or the cache lost something.
struct FullDiskFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// One round: mounts a small disk, fills and frees it while another process uses a cache on it, sometimes kills that
/// process, and checks its reads against its writes.
///
/// Arguments: place, directory, seed, durability, number of steps. Prints `count NAME NUMBER` and `wrong …`.
struct FullDiskStage: TrialRole {
  static let name = "full-disk-stage"
  private static let keyCount = 30

  private let place: FullDiskPlace
  private let directory: String
  private let durability: String
  private var random: SeededRandom
  private var user: ChildProcess?
  private var isFull = false
  private var number = 0
  /// The value under each key in the running process.
  private var current: [Int: Int] = [:]
  /// Values that each key may have once the process has died; -1 means none.
  private var possible: [Int: Set<Int>] = [:]
  /// Whether disk and journal have every write: the cache was healthy, and no trim can be undone.
  private var isExact = true
  private var figures: [String: Int] = [:]
  private var latest: [String] = []

  static func run(_ arguments: [String]) throws {
    let place = FullDiskPlace(rawValue: arguments[0])!
    var stage = FullDiskStage(place, arguments)
    do {
      try place.mount(at: arguments[1])
      try stage.run(Int(arguments[4])!)
    } catch {
      answer("wrong \(place) \(error); after \(stage.latest.suffix(12).joined(separator: ", "))")
    }
    stage.user?.kill()
    for (name, value) in stage.figures { count(name, value) }
  }

  private init(_ place: FullDiskPlace, _ arguments: [String]) {
    self.place = place
    directory = arguments[1]
    random = SeededRandom(UInt64(arguments[2])!)
    durability = arguments[3]
  }

  private var cacheDirectory: String { directory + "/cache" }

  private mutating func run(_ steps: Int) throws {
    // A third of the rounds begin on a full disk.
    if random.below(3) == 0 { try fill() }
    for _ in 0..<steps {
      try step()
      figures["steps", default: 0] += 1
    }
    try free()
    try comeBack()
  }

  private mutating func step() throws {
    if user == nil { try open() }
    guard user != nil else {
      if random.below(3) == 0 { try free() }
      return
    }
    switch random.below(100) {
    case 0..<50: try write("set \(random.below(Self.keyCount)) \(nextNumber())")
    case 50..<60: try write("remove \(random.below(Self.keyCount))")
    case 60..<66:
      let first = random.below(Self.keyCount - 1)
      try write("batch \(first) \(first + 1) \(nextNumber())")
    case 66: try write("clear")
    case 67..<72: if isFull { try free() } else { try fill() }
    case 72..<78: try flush()
    case 78..<80: try trim()
    case 80..<82: _ = try ask("advance \(1 + random.below(40))")
    case 82: try attempt("upkeep")
    case 83..<86: try die()
    case 86..<88: try close()
    default: try check()
    }
    try noteHealth()
  }

  private mutating func nextNumber() -> Int {
    number += 1
    return number
  }

  /// Retries while LMDB refuses reads after an I/O error in mid-commit. The refusals must end.
  private mutating func read(_ command: String) throws -> String {
    var answer = try ask(command)
    for _ in 0..<400 where answer == "error storageFailed" {
      figures["reads refused after an I/O error", default: 0] += 1
      usleep(5_000)
      answer = try ask(command)
    }
    return answer
  }

  private mutating func ask(_ command: String) throws -> String {
    latest.append(command)
    guard let answer = user?.run(command) else {
      user = nil
      throw FullDiskFailure("the process has ended by itself")
    }
    latest[latest.count - 1] += ": \(answer)"
    return answer
  }

  /// Succeeds, or fails for lack of space, or for a write that the disk's end cuts short.
  @discardableResult private mutating func attempt(_ command: String) throws -> String {
    let answer = try ask(command)
    guard ["ok", "error notCommitted", "error noSpace", "error storageFailed"].contains(answer) else {
      throw FullDiskFailure("\(command): \(answer)")
    }
    return answer
  }

  // MARK: The disk

  private mutating func fill() throws {
    isFull = true
    figures["times full", default: 0] += 1
    if place == .limit { return try limit() }
    let descriptor = Foundation.open(directory + "/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    if descriptor < 0 { return }  // Not a block left for its name.
    defer { Foundation.close(descriptor) }
    for size in [1 << 16, 4096, 1] {
      let bytes = [UInt8](repeating: 1, count: size)
      while Foundation.write(descriptor, bytes, size) > 0 {}
    }
  }

  /// Below the files' present size, or a little above it.
  private mutating func limit() throws {
    if user != nil { _ = try ask("limit \([1, 100_000, 300_000, 1_000_000][random.below(4)])") }
  }

  private mutating func free() throws {
    isFull = false
    if place == .limit {
      if user != nil { _ = try ask("limit 0") }
    } else {
      unlink(directory + "/filler")
    }
  }

  // MARK: The process

  private mutating func open() throws {
    let child = try ChildProcess("soak", ["role", FullDiskUser.name])
    user = child
    if isFull && place == .limit { try limit() }
    let answer = try ask("open \(cacheDirectory) \(durability)")
    figures[isFull ? "openings on a full disk" : "openings", default: 0] += 1
    guard answer == "ok" else {
      figures["openings refused", default: 0] += 1
      child.kill()
      user = nil
      guard answer == "error noSpace" else { throw FullDiskFailure("opening: \(answer)") }
      if FileManager.default.fileExists(atPath: cacheDirectory + "/new") {
        throw FullDiskFailure("a refused opening left something half made")
      }
      if !isFull { throw FullDiskFailure("a cache that filled the disk by itself cannot be opened") }
      return
    }
    try checkLockFile()
    try read()
  }

  /// A hole in the lock file would raise SIGBUS on a full disk.
  private func checkLockFile() throws {
    var status = stat()
    guard stat(cacheDirectory + "/lock.mdb", &status) == 0 else {
      throw FullDiskFailure("there is no lock.mdb")
    }
    if Int(status.st_blocks) * 512 < Int(status.st_size) { throw FullDiskFailure("lock.mdb is sparse") }
  }

  /// A new process must find a written value: the last one, unless writes did not survive the process.
  private mutating func read() throws {
    for key in 0..<Self.keyCount {
      let answer = try read("get \(key)")
      guard let found = answer == "nil" ? -1 : Int(answer) else {
        throw FullDiskFailure("key \(key): \(answer)")
      }
      let wanted = isExact ? [current[key] ?? -1] : possible[key] ?? [-1]
      guard wanted.contains(found) else {
        throw FullDiskFailure("key \(key) has \(found) after the process's end, and not one of \(wanted.sorted())")
      }
      current[key] = found < 0 ? nil : found
    }
    settle()
  }

  private mutating func settle() {
    possible = current.mapValues { [$0] }
    isExact = true
  }

  private mutating func die() throws {
    figures["deaths", default: 0] += 1
    if user != nil { figures["files opened again, after an I/O error", default: 0] += Int(try ask("reopenings")) ?? 0 }
    user?.kill()
    user = nil
    latest.append("killed")
  }

  private mutating func close() throws {
    // Reports lost writes.
    if try attempt("close") != "ok" { isExact = false }
    user?.kill()
    user = nil
  }

  // MARK: Changes

  private mutating func write(_ command: String) throws {
    let words = command.split(separator: " ").map { Int($0) }
    let answer = try attempt(command)
    // A refused write changes nothing.
    let isRefused = ["error noSpace", "error storageFailed"].contains(answer)
    figures[answer == "ok" ? "writes" : isRefused ? "writes refused" : "writes not committed yet", default: 0] += 1
    if isRefused { return }
    switch command.prefix(3) {
    case "set": note(words[1]!, words[2]!)
    case "rem": note(words[1]!, nil)
    case "bat":
      note(words[1]!, words[3]!)
      note(words[2]!, words[3]!)
    default: for key in 0..<Self.keyCount { note(key, nil) }
    }
  }

  private mutating func note(_ key: Int, _ number: Int?) {
    possible[key, default: [-1]].insert(number ?? -1)
    current[key] = number
  }

  /// While the cache is unhealthy, a write may not survive the process.
  private mutating func noteHealth() throws {
    guard user != nil else { return }
    let health = try ask("health")
    if health == "healthy" { return }
    guard ["memory-only noSpace", "memory-only storageFailed"].contains(health) else {
      throw FullDiskFailure("health: \(health)")
    }
    isExact = false
    figures["steps in memory only", default: 0] += 1
  }

  private mutating func flush() throws {
    if try attempt("flush") == "ok", try ask("health") == "healthy" { settle() }
  }

  private mutating func trim() throws {
    try attempt("trim \(Self.keyCount / 2)")
    // A trimmed entry may still be on the disk, and one that a write replaces which does not survive may be trimmed.
    for key in 0..<Self.keyCount {
      possible[key, default: []].insert(-1)
      guard let number = current[key] else { continue }
      let found = try read("get \(key)")
      if found == "nil" {
        note(key, nil)
      } else if found != "\(number)" {
        throw FullDiskFailure("key \(key) has \(found) after a trim, and not \(number)")
      }
    }
    isExact = false
  }

  private mutating func check() throws {
    if random.below(2) == 0 { _ = try ask("forget") }
    for _ in 0..<4 {
      let key = random.below(Self.keyCount)
      let found = try read("get \(key)")
      figures["reads", default: 0] += 1
      if found == (current[key].map { "\($0)" } ?? "nil") { continue }
      throw FullDiskFailure("key \(key) is read as \(found), and is \(current[key] ?? -1)")
    }
  }

  /// Once there is space, the cache commits by itself and everything reaches the disk.
  private mutating func comeBack() throws {
    if user == nil { try open() }
    guard user != nil else { throw FullDiskFailure("it cannot be opened when there is space again") }
    var isHealthy = false
    for _ in 0..<200 where !isHealthy {
      _ = try ask("advance 31")
      let flushed = try ask("flush")
      let health = try ask("health")
      isHealthy = health == "healthy" && flushed == "ok"
      if !isHealthy { usleep(5_000) }
      // The cache may have filled the disk by itself. Removing entries must help even then.
      if !isHealthy { try write("clear") }
    }
    if !isHealthy { throw FullDiskFailure("it does not come back when there is space again") }
    figures["came back", default: 0] += 1
    let count = try read("count")
    if Int(count) == nil { throw FullDiskFailure("count: \(count)") }
    for key in 0..<Self.keyCount {
      let found = try read("get \(key)")
      if Int(found) != current[key] {
        throw FullDiskFailure("key \(key) is \(found) when there is space again, and not \(current[key] ?? -1)")
      }
    }
    settle()
    try write("set 0 \(nextNumber())")
    try die()
    try open()
    if user == nil { throw FullDiskFailure("it cannot be opened again") }
  }
}
