import Foundation
import LMDBCaching
import TestSupport

/// A kind of database to damage: built once, copied for every round.
enum CorruptionShape: String, CaseIterable {
  case small, deep, large, longKeys, valueLog, freePages
  /// Leaves uncommitted writes in a dead process's journal and in the value log.
  case journal

  private var sizes: (keys: Int, value: Int) {
    switch self {
    case .small: (12, 60)
    case .deep: (1_500, 20)
    case .large: (60, 20_000)
    case .longKeys: (250, 60)
    case .valueLog: (30, 70_000)
    case .freePages: (300, 900)
    case .journal: (60, 500)
    }
  }

  var keys: [String] {
    (0..<sizes.keys).map { number in
      switch self {
      case .deep: "key \(number)" + String(repeating: "-", count: 200)
      // Some are longer than an LMDB key.
      case .longKeys: "\(number)" + String(repeating: "k", count: number % 2 == 0 ? 500 : 900)
      default: "key \(number)"
      }
    }
  }

  func value(_ key: String, _ version: Int) -> Data {
    var random = SeededRandom(UInt64(version) &* 0x9E37 &+ key.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
    let length = self == .journal && key.hasSuffix("5") ? 70_000 : sizes.value
    let size = length + random.below(64)
    return (Data("\(version) \(key.prefix(40)) ".utf8) + random.bytes(size)).prefix(size)
  }

  /// The last version of each key. Older ones remain in free pages and earlier images.
  static let lastVersion = 3

  static func open(
    _ path: String, _ verification: CacheVerification = .afterUncleanExit, commits: Bool = true
  ) throws -> LMDBCache {
    try TrialCache.open(path) {
      $0.disk.mapSize = 256 << 20
      $0.disk.journalSize = 1 << 16
      $0.disk.inlineThreshold = 60_000
      $0.disk.verification = verification
      if !commits { $0.disk.groupCommitInterval = .seconds(86_400) }
    }
  }

  /// In the `journal` shape, this many of the last keys are written as one batch.
  static let batchLength = 4

  enum Target: String, CaseIterable { case database, values, journals }

  var targets: [Target] {
    switch self {
    case .valueLog: [.database, .values, .values]
    case .journal: [.values, .journals]
    default: [.database]
    }
  }

  /// Builds it at `path`, with an image of its database before the last writes at `earlier`.
  func make(at path: String, earlier: String) throws {
    let keys = keys
    for version in 1...(self == .journal ? Self.lastVersion - 1 : Self.lastVersion) {
      let cache = try Self.open(path)
      for part in stride(from: 0, to: keys.count, by: 40) {
        try cache.write { batch in
          for key in keys[part..<min(part + 40, keys.count)] { batch.set(value(key, version), forKey: key) }
        }
      }
      if self == .freePages {
        for number in 0..<800 { try cache.set(Data(count: 3_000), forKey: "other \(number)") }
        try cache.flush()
        try cache.removeAll(.prefix("other"))
      }
      try cache.close()
      if version == Self.lastVersion - 1 {
        try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: earlier)
      }
    }
    if self == .journal { try leaveJournal(at: path) }
  }

  /// Writes the last version of every key, and copies the files as a process leaves them that dies before its commit.
  private func leaveJournal(at path: String) throws {
    let live = path + "-live"
    try FileManager.default.moveItem(atPath: path, toPath: live)
    let cache = try Self.open(live, commits: false)
    for key in keys.dropLast(Self.batchLength) { try cache.set(value(key, Self.lastVersion), forKey: key) }
    try cache.write { batch in
      for key in keys.suffix(Self.batchLength) { batch.set(value(key, Self.lastVersion), forKey: key) }
    }
    try FileManager.default.copyItem(atPath: live, toPath: path)
    try? FileManager.default.removeItem(atPath: path + "/lock.mdb")
    try cache.close()
  }
}

/// A sound cache, and how to make a damaged copy of it.
struct CorruptionModel {
  let shape: CorruptionShape
  private let path: String
  private let image: DatabaseImage
  private let earlier: DatabaseImage
  private let values: [String: [UInt8]]
  private let journals: [String: [UInt8]]
  /// Segments of another cache.
  private let foreign: [String: [UInt8]]

  init(_ shape: CorruptionShape, in work: String, foreign: String) throws {
    self.shape = shape
    path = work + "/" + shape.rawValue
    try shape.make(at: path, earlier: path + "-earlier")
    image = try DatabaseImage(path + "/data.mdb")
    earlier = try DatabaseImage(path + "-earlier")
    values = try Self.files(path + "/values")
    journals = try Self.files(path + "/journals")
    self.foreign = try Self.files(foreign + "/values")
    if shape == .journal, values.isEmpty || journals.isEmpty { throw POSIXError(.ENOENT) }
  }

  private static func files(_ folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      files[name] = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
    }
    return files
  }

  func damage(
    _ target: CorruptionShape.Target, in copy: String, _ circumstance: CorruptionTrial.Circumstance,
    _ random: inout SeededRandom
  ) throws -> (name: String, place: String, text: String) {
    let manager = FileManager.default
    if manager.fileExists(atPath: copy) { try manager.removeItem(atPath: copy) }
    try manager.createDirectory(atPath: copy, withIntermediateDirectories: false)
    for name in try manager.contentsOfDirectory(atPath: path) {
      if ["data.mdb", "lock.mdb", target.rawValue].contains(name) { continue }
      if name == "clean-exit", circumstance == .unclean { continue }
      try manager.copyItem(atPath: path + "/" + name, toPath: copy + "/" + name)
    }
    var bytes = image.bytes
    var (way, place, text) = (Corruption.bits, target.rawValue, "")
    if target == .database {
      way = Corruption.ofDatabases.randomElement(using: &random)!
      let (kind, change) = way.apply(to: &bytes, of: image, earlier: earlier, &random)
      (place, text) = ("\(kind) pages", change)
    } else {
      way = (target == .values ? Corruption.ofValues : Corruption.ofJournals).randomElement(using: &random)!
      var files = target == .values ? values : journals
      text = way.apply(to: &files, foreign: foreign, &random)
      try manager.createDirectory(atPath: copy + "/" + place, withIntermediateDirectories: false)
      for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: copy + "/\(place)/" + name)) }
    }
    try Data(bytes).write(to: URL(fileURLWithPath: copy + "/data.mdb"))
    // As if the medium had done it: the clean-exit mark matches the damaged file.
    if circumstance == .silent { try TestingMark.write(in: copy) }
    return (way.rawValue, place, text)
  }
}
