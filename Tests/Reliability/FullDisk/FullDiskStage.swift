import Foundation
import LMDBCaching
import TestSupport

/// One round: mounts a small disk, fills and frees it while another process uses a cache on it, sometimes kills that
/// process, and checks its reads against its writes.
///
/// Arguments: place, directory, seed, durability, number of steps.
struct FullDiskStage: TrialRole {
  static let name = "full-disk-stage"
  private static let keys = (0..<30).map { "key\($0)" }
  /// Some values are long enough for the value log.
  private static let sizes = [60, 400, 3_000, 7_000, 30_000, 90_000]

  private let place: FullDiskPlace
  private let directory: String
  private let durability: String
  private var random: SeededRandom
  private var user: ChildProcess?
  private var isFull = false
  private var number = 0
  /// The value under each key in the running process.
  private var current: [String: Int] = [:]
  /// Values that each key may have once the process has died.
  private var possible: [String: Set<Int?>] = [:]
  /// Whether disk and journal have every write: the cache was healthy, and no trim can be undone.
  private var isExact = true
  private var latest: [String] = []

  static func run(_ arguments: [String]) throws {
    let place = FullDiskPlace(rawValue: arguments[0])!
    var stage = FullDiskStage(
      place: place, directory: arguments[1], durability: arguments[3], random: SeededRandom(UInt64(arguments[2])!))
    do {
      try place.mount(at: arguments[1])
      try stage.run(Int(arguments[4])!)
    } catch {
      answer("\(error); after \(stage.latest.suffix(12).joined(separator: ", "))")
    }
    stage.user?.kill()
  }

  private mutating func run(_ steps: Int) throws {
    // A third of the rounds begin on a full disk.
    if random.below(3) == 0 { try fill() }
    for _ in 0..<steps {
      try step()
      Self.count("steps")
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
    case 0..<50: try set([Self.keys.randomElement(using: &random)!])
    case 50..<60:
      let key = Self.keys.randomElement(using: &random)!
      try write([key], nil, "remove \(key)")
    case 60..<66:
      let first = random.below(Self.keys.count - 1)
      try set(Array(Self.keys[first...first + 1]))
    case 66: try write(Self.keys, nil, "clear")
    case 67..<72: try isFull ? free() : fill()
    case 72..<78: if try attempt("flush") == "ok", try ask("health") == "healthy" { settle() }
    case 78..<80: try trim()
    case 80..<82: _ = try ask("advance \(1 + random.below(40))")
    case 82: try attempt("upkeep")
    case 83..<86: die()
    case 86..<88:
      // Reports lost writes.
      if try attempt("close") != "ok" { isExact = false }
      user = nil
    default:
      if random.below(2) == 0 { _ = try ask("forget") }
      for _ in 0..<4 { try check(Self.keys.randomElement(using: &random)!, "in a read") }
    }
    guard user != nil else { return }
    // While the cache is unhealthy, a write may not survive the process.
    let health = try ask("health")
    if health == "healthy" { return }
    try expect(["memory-only noSpace", "memory-only storageFailed"].contains(health), "health: \(health)")
    isExact = false
    Self.count("steps in memory only")
  }

  private func expect(_ condition: Bool, _ failure: String) throws {
    if !condition { throw CacheError(.storageFailed, failure) }
  }

  private mutating func ask(_ command: String) throws -> String {
    var answer = user?.run(command)
    // LMDB refuses reads after an I/O error in mid-commit. The refusals must end.
    for _ in 0..<400 where answer == "error storageFailed" && ["get", "cou"].contains(command.prefix(3)) {
      usleep(5_000)
      answer = user?.run(command)
    }
    latest.append("\(command): \(answer ?? "ended")")
    if answer == nil { user = nil }
    try expect(answer != nil, "the process has ended by itself")
    return answer!
  }

  /// Succeeds, or fails for lack of space, or for a write that the disk's end cuts short.
  @discardableResult private mutating func attempt(_ command: String) throws -> String {
    let answer = try ask(command)
    let isExpected = ["ok", "error notCommitted", "error noSpace", "error storageFailed"].contains(answer)
    try expect(isExpected, "\(command): \(answer)")
    return answer
  }

  // MARK: The disk

  private mutating func fill() throws {
    isFull = true
    Self.count("times full")
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
    if place != .limit { unlink(directory + "/filler") } else if user != nil { _ = try ask("limit 0") }
  }

  // MARK: The process

  private mutating func open() throws {
    user = try ChildProcess("soak", ["role", CacheUser.name])
    if isFull && place == .limit { try limit() }
    let cache = directory + "/cache"
    let answer = try ask("open \(cache) \(durability) small")
    if answer != "ok" {
      user = nil
      try expect(answer == "error noSpace", "opening: \(answer)")
      let isHalfMade = FileManager.default.fileExists(atPath: cache + "/new")
      try expect(!isHalfMade, "a refused opening left something half made")
      return try expect(isFull, "a cache that filled the disk by itself cannot be opened")
    }
    // A hole in the lock file would raise SIGBUS on a full disk.
    var status = stat()
    let isWhole = stat(cache + "/lock.mdb", &status) == 0 && Int(status.st_blocks) * 512 >= Int(status.st_size)
    try expect(isWhole, "lock.mdb is missing or sparse")
    // A new process must find a written value: the last one, unless writes did not survive the process.
    for key in Self.keys {
      if isExact { possible[key] = [current[key]] }
      current[key] = try check(key, "after the process's end", possible[key] ?? [nil])
    }
    settle()
  }

  private mutating func settle() {
    possible = current.mapValues { [$0] }
    isExact = true
  }

  private mutating func die() {
    Self.count("deaths")
    user = nil
    latest.append("killed")
  }

  // MARK: Changes

  private mutating func set(_ keys: [String]) throws {
    number += 1
    let size = Self.sizes[number % Self.sizes.count]
    try write(keys, number, "set \(number) \(size) \(keys.joined(separator: " "))")
  }

  private mutating func write(_ keys: [String], _ number: Int?, _ command: String) throws {
    let answer = try attempt(command)
    // A refused write changes nothing.
    let isRefused = ["error noSpace", "error storageFailed"].contains(answer)
    if isRefused { return }
    Self.count("writes")
    for key in keys {
      possible[key, default: [nil]].insert(number)
      current[key] = number
    }
  }

  private mutating func trim() throws {
    try attempt("trim \(Self.keys.count / 2)")
    // A trimmed entry may still be on the disk, and one that a write replaces which does not survive may be trimmed.
    for key in Self.keys {
      possible[key, default: []].insert(nil)
      current[key] = try check(key, "after a trim", [current[key], nil])
    }
    isExact = false
  }

  @discardableResult
  private mutating func check(_ key: String, _ occasion: String, _ allowed: Set<Int?>? = nil) throws -> Int? {
    let wanted = allowed ?? [current[key]]
    let answer = try ask("get \(key)")
    let found = Int(answer)
    let isRight = (found != nil || answer == "nil") && wanted.contains(found)
    try expect(isRight, "\(key) is \(answer) \(occasion), and not one of \(wanted)")
    return found
  }

  /// Once there is space, the cache commits by itself and everything reaches the disk.
  private mutating func comeBack() throws {
    if user == nil { try open() }
    var isHealthy = false
    for _ in 0..<200 where !isHealthy {
      _ = try ask("advance 31")
      let flushed = try ask("flush")
      isHealthy = try ask("health") == "healthy" && flushed == "ok"
      if isHealthy { break }
      usleep(5_000)
      // The cache may have filled the disk by itself. Removing entries must help even then.
      try write(Self.keys, nil, "clear")
    }
    try expect(isHealthy, "it does not come back when there is space again")
    Self.count("came back")
    let count = try ask("count")
    try expect(Int(count) != nil, "count: \(count)")
    for key in Self.keys { try check(key, "when there is space again") }
    settle()
    try set([Self.keys[0]])
    die()
    try open()
  }
}
